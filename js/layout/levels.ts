/** Takes one level out of the hierarchy as a flat graph: finished groups become boxes with fixed ports. */
import { ENTRY, type Hierarchy } from "./hierarchy.ts";
import { type Placed, type Spacing } from "./level.ts";
import { LevelWriter, relate } from "./level_keys.ts";
import { type Seeds } from "./seeds.ts";
import { type LayoutInput } from "./types.ts";

const CLEARLY_DEEPER = 1.25;

/** Writes levels down as keys. One reader serves one picture; its scratch memory is shared by the levels. */
export class LevelReader {
  /** Number of each item in its level: filled in by `read`, and needed while the picture is put together. */
  readonly local: Uint32Array;
  private readonly writer = new LevelWriter();
  /** Nets are renumbered in order of appearance, so that levels with equal contents are equal; `stamp` says for which level. */
  private readonly netNumber: Uint32Array;
  private readonly netStamp: Uint32Array;
  private stamp = 0;
  private best = new Int32Array(64);
  private second = new Float64Array(64);

  constructor(
    private readonly input: LayoutInput,
    private readonly h: Hierarchy,
    private readonly placed: Placed[],
  ) {
    this.local = new Uint32Array(h.nodeCount + h.groupCount + h.stubGroup.length);
    const nets = h.nodeCount + input.edges.source.length;
    this.netNumber = new Uint32Array(nets);
    this.netStamp = new Uint32Array(nets);
  }

  /** The level's key; valid until the next one is read. */
  read(items: Uint32Array, wireIds: Uint32Array, seeds: Seeds | null, spacing: Spacing): Uint32Array {
    const { writer } = this;
    writer.begin(items.length, wireIds.length, spacing);
    this.writeItems(items, seeds);
    this.writeWires(wireIds);
    this.markMain(items, wireIds);
    return writer.key();
  }

  private writeItems(items: Uint32Array, seeds: Seeds | null): void {
    const {
        input,
        placed,
        local,
        writer: { words, floats, at },
      } = this,
      { nodeCount, groupCount, stubKind } = this.h;
    const firstStub = nodeCount + groupCount;
    for (let i = 0; i < items.length; i++) {
      const item = items[i];
      local[item] = i;
      floats[at.seedX + i] = seeds && item < firstStub ? seeds.x[item] : NaN;
      floats[at.seedY + i] = seeds && item < firstStub ? seeds.y[item] : NaN;
      if (item < nodeCount) {
        floats[at.width + i] = input.nodes.width[item];
        floats[at.height + i] = input.nodes.height[item];
      } else if (item < firstStub) {
        const box = placed[item - nodeCount];
        floats[at.width + i] = box.width;
        floats[at.height + i] = box.height;
        floats[at.head + i] = box.insetY;
        floats[at.foot + i] = box.foot;
        if (seeds?.mayGive) floats[at.give + i] = box.layout.give;
      } else words[at.kind + i] = stubKind[item - firstStub];
    }
    relate(floats, at.seedX, items.length);
    relate(floats, at.seedY, items.length);
  }

  private writeWires(wireIds: Uint32Array): void {
    const {
        local,
        netNumber,
        netStamp,
        writer: { words, floats, at },
      } = this,
      { nodeCount, wires } = this.h;
    this.stamp++;
    for (let k = 0, nets = 0; k < wireIds.length; k++) {
      const w = wireIds[k],
        s = wires.source[w],
        t = wires.target[w],
        net = wires.net[w];
      if (netStamp[net] !== this.stamp) {
        netStamp[net] = this.stamp;
        netNumber[net] = nets++;
      }
      words[at.net + k] = netNumber[net];
      words[at.source + k] = local[s];
      words[at.target + k] = local[t];
      words[at.targetPort + k] = wires.port[w];
      words[at.sourcePort + k] = s < nodeCount && net >= nodeCount ? 1 : 0;
      floats[at.sourceShift + k] = wires.sourceStub[w] < 0 ? NaN : this.shift(s, wires.sourceStub[w]);
      floats[at.targetShift + k] = wires.targetStub[w] < 0 ? NaN : this.shift(t, wires.targetStub[w]);
    }
  }

  /** Where a stub comes through its group's border: x from the group's centre. */
  private shift(group: number, stub: number): number {
    const { nodeCount, groupCount } = this.h,
      inside = this.placed[group - nodeCount];
    return inside.insetX + inside.layout.x[this.local[nodeCount + groupCount + stub]] - inside.width / 2;
  }

  /** A wire or an entry is the main one if what it brings is clearly deeper in the whole graph than all it arrives with. */
  private markMain(items: Uint32Array, wireIds: Uint32Array): void {
    const {
      writer: { words, at },
      h,
    } = this;
    if (this.best.length < items.length) {
      this.best = new Int32Array(2 * items.length);
      this.second = new Float64Array(2 * items.length);
    }
    const best = this.best.fill(-1, 0, items.length),
      second = this.second.fill(0, 0, items.length);
    const depth = (k: number): number => h.depthOfNet(h.wires.net[wireIds[k]]);
    for (let k = 0; k < wireIds.length; k++) {
      const t = words[at.target + k];
      if (best[t] < 0) best[t] = k;
      else if (depth(k) > depth(best[t])) {
        second[t] = depth(best[t]);
        best[t] = k;
      } else second[t] = Math.max(second[t], depth(k));
    }
    for (let i = 0; i < items.length; i++)
      if (best[i] >= 0 && clearly(depth(best[i]), second[i])) words[at.mainWire + best[i]] = 1;
    const entry = (i: number): number => h.depthOfNet(h.stubNet[items[i] - h.nodeCount - h.groupCount]);
    let first = -1,
      next = 0;
    for (let i = 0; i < items.length; i++) {
      if (words[at.kind + i] !== ENTRY) continue;
      if (first < 0) first = i;
      else if (entry(i) > entry(first)) {
        next = entry(first);
        first = i;
      } else next = Math.max(next, entry(i));
    }
    if (first >= 0 && clearly(entry(first), next)) words[at.mainEntry + first] = 1;
  }
}

function clearly(depth: number, second: number): boolean {
  return depth > CLEARLY_DEEPER * second + 2;
}
