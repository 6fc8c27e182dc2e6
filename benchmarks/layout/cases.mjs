// The graphs measured. Names are what the table says; each makes a LayoutInput.
export function cases({ bert, resnet, randomDag }) {
  const made = {
    "resnet-18": () => resnet().input(),
    "resnet-18 flat": () => resnet().flat(),
    "resnet-50 flat, weights as badges": () => withoutSources(resnet([3, 4, 6, 3]).flat()),
    "bert-1": () => bert({ layers: 1 }).input(),
    "bert-2": () => bert({ layers: 2 }).input(),
    "bert-2 flat": () => bert({ layers: 2 }).flat(),
    "bert-4 flat, weights as badges": () => bert({ layers: 4, constants: false, mask: false }).flat(),
    "bert-12": () => bert({ layers: 12 }).input(),
    "bert-12 flat": () => bert({ layers: 12 }).flat(),
    "10k, groups, mask": () => bert({ layers: 98 }).input(),
    "50k, groups, mask": () => bert({ layers: 490 }).input(),
    "50k flat, mask": () => bert({ layers: 490 }).flat(),
  };
  for (const [nodes, groups, seed, reach] of RANDOM)
    made[`random ${nodes}${groups ? `, ${groups} groups` : ""} (seed ${seed})`] = () =>
      randomDag(seed, { nodes, groups, reach, maxInputs: nodes % 3 ? 2 : 3 }).input();
  return made;
}

const RANDOM = [
  [50, 0, 1, 8], [100, 0, 3, 8], [150, 0, 5, 30], [200, 0, 16, 6], [300, 0, 7, 12], [500, 0, 9, 10], [1000, 0, 11, 10],
  [50, 5, 2, 8], [100, 8, 4, 10], [200, 12, 6, 10], [400, 20, 8, 8], [700, 30, 10, 10], [1000, 60, 12, 10],
];

/** The widget's default: constants and parameters drawn as badges on their consumer. */
function withoutSources(input) {
  const count = input.nodes.width.length, fed = new Uint8Array(count), number = new Int32Array(count).fill(-1);
  for (const t of input.edges.target) fed[t] = 1;
  const kept = [];
  for (let n = 0; n < count; n++) if (fed[n] || n === 0) number[n] = kept.push(n) - 1;
  const edges = [...input.edges.source.keys()].filter((e) => number[input.edges.source[e]] >= 0);
  return {
    ...input,
    nodes: {
      width: Float32Array.from(kept, (n) => input.nodes.width[n]), height: Float32Array.from(kept, (n) => input.nodes.height[n]),
      group: Int32Array.from(kept, (n) => input.nodes.group[n]),
    },
    edges: {
      source: Uint32Array.from(edges, (e) => number[input.edges.source[e]]), target: Uint32Array.from(edges, (e) => number[input.edges.target[e]]),
      port: Uint16Array.from(edges, (e) => input.edges.port[e]),
    },
  };
}

/** Graphs of 50 to 1,000 nodes whose crossings are compared with dot's. */
export const CROSSING_CASES = (names) => names.filter((name) => /^random|^resnet|^bert-[124]/.test(name));
