/** The graphs of notes and issues, synthesised: transformer and residual models, and random DAGs with nested groups. */
import { Builder } from "./builder.ts";
import { below, random } from "./random.ts";

interface BertOptions {
  layers: number;
  constants?: boolean;
  /** Kernels as groups inside scopes. */
  groups?: boolean;
  mask?: boolean;
}

/** Op-level BERT: about 91 ops a layer as Relay prints it after import, 114 with weights. */
export function bert({ layers, constants = true, groups = true, mask = true }: BertOptions): Builder {
  const b = new Builder();
  const ids = b.node("input_ids"),
    types = b.node("token_type_ids"),
    maskIn = mask ? b.node("attention_mask") : -1;
  let scope = -1;
  const kernel = (name: string): number => (groups ? b.open(`fused_${name}`, scope) : -1);
  const weight = (name: string): number[] => (constants ? [b.node(name, scope)] : []);
  const dense = (x: number, name: string): number => {
    const wide = kernel("cast_quantize"),
      q = b.node("divide", wide, [x]),
      r = b.node("round", wide, [q]),
      c = b.node("cast", wide, [r]);
    const w = weight(`${name}.weight`),
      bias = weight(`${name}.bias`);
    const k = kernel("nn_dense_add"),
      y = b.node("nn.dense", k, [c, ...w]),
      s = b.node("cast", k, [y]),
      m = b.node("multiply", k, [s]);
    return b.node("add", k, [m, ...bias]);
  };
  const norm = (x: number, name: string): number => {
    const gamma = weight(`${name}.gamma`),
      beta = weight(`${name}.beta`);
    const k1 = kernel("mean"),
      mean = b.node("mean", k1, [x]);
    const k2 = kernel("variance"),
      d = b.node("subtract", k2, [x, mean]),
      p = b.node("power", k2, [d]),
      v = b.node("mean", k2, [p]);
    const k3 = kernel("subtract_divide_multiply_add"),
      a = b.node("add", k3, [v]),
      r = b.node("rsqrt", k3, [a]);
    const n = b.node("multiply", k3, [d, r]),
      g = b.node("multiply", k3, [n, ...gamma]);
    return b.node("add", k3, [g, ...beta]);
  };
  const heads = (x: number, order: string): number => {
    const k = kernel(`reshape_transpose${order}`);
    return b.node("reshape", k, [b.node("transpose", k, [b.node("reshape", k, [x])])]);
  };
  scope = groups ? b.open("embeddings") : -1;
  const words = b.node("take", scope, [...weight("word_embeddings"), ids]);
  const kinds = b.node("take", scope, [...weight("type_embeddings"), types]);
  let x = norm(
    b.node("add", scope, [b.node("add", scope, [words, kinds]), ...weight("position_embeddings")]),
    "embeddings.norm",
  );
  let bias = -1;
  if (mask) {
    const k = groups ? b.open("fused_mask") : -1;
    bias = b.node("multiply", k, [b.node("subtract", k, [b.node("cast", k, [b.node("expand_dims", k, [maskIn])])])]);
  }
  for (let l = 0; l < layers; l++) {
    scope = groups ? b.open(`layer_${l}`) : -1;
    const q = heads(dense(x, "query"), "_q"),
      key = heads(dense(x, "key"), "_k"),
      v = heads(dense(x, "value"), "_v");
    const s = b.node("nn.batch_matmul", kernel("nn_batch_matmul"), [q, key]);
    const k = kernel("divide_add"),
      scores = b.node("reshape", k, [b.node("divide", k, [s])]);
    const masked = mask ? b.node("add", k, [scores, bias]) : scores;
    const probs = b.node("nn.softmax", kernel("nn_softmax"), [masked]);
    const context = heads(
      b.node("nn.batch_matmul", kernel("nn_batch_matmul_1"), [b.node("reshape", scope, [probs]), v]),
      "_o",
    );
    const attended = norm(b.node("add", scope, [dense(context, "output"), x]), "attention.norm");
    const h = dense(attended, "intermediate"),
      g = kernel("gelu");
    const e = b.node("add", g, [b.node("erf", g, [b.node("multiply", g, [h])])]),
      gelu = b.node("multiply", g, [h, b.node("multiply", g, [e])]);
    x = norm(b.node("add", scope, [dense(gelu, "ffn"), attended]), "output.norm");
  }
  b.node("tanh", -1, [b.node("take", -1, [x])]);
  return b;
}

/** ResNet with `stages` of basic blocks: convolution kernels, shortcuts, weights. */
export function resnet(stages: number[] = [2, 2, 2, 2], groups = true): Builder {
  const b = new Builder();
  let scope = -1;
  const conv = (x: number, name: string, relu: boolean): number => {
    const w = b.node(`${name}.weight`, scope),
      gamma = b.node(`${name}.scale`, scope),
      beta = b.node(`${name}.shift`, scope);
    const k = groups ? b.open(`fused_nn_conv2d_${relu ? "relu" : "add"}`, scope) : -1;
    const c = b.node("nn.conv2d", k, [x, w]),
      m = b.node("multiply", k, [c, gamma]),
      a = b.node("add", k, [m, beta]);
    return relu ? b.node("nn.relu", k, [a]) : a;
  };
  let x = b.node("nn.max_pool2d", -1, [conv(b.node("data"), "conv0", true)]);
  stages.forEach((blocks, stage) => {
    for (let i = 0; i < blocks; i++) {
      scope = groups ? b.open(`stage${stage}_block${i}`) : -1;
      const shortcut = i === 0 && stage > 0 ? conv(x, "downsample", false) : x;
      const y = conv(conv(x, "conv1", true), "conv2", false);
      const k = groups ? b.open("fused_add_relu", scope) : -1;
      x = b.node("nn.relu", k, [b.node("add", k, [y, shortcut])]);
    }
  });
  scope = -1;
  b.node("nn.softmax", -1, [b.node("nn.dense", -1, [b.node("nn.global_avg_pool2d", -1, [x]), b.node("fc.weight")])]);
  return b;
}

interface RandomOptions {
  nodes: number;
  /** Groups, nested at random; groups of consecutive nodes are convex more often than not. */
  groups?: number;
  /** Inputs of a node are mostly among this many nodes before it. */
  reach?: number;
  maxInputs?: number;
  /** Assigns nodes to groups regardless of position, so that groups form cycles. */
  scattered?: boolean;
}

export function randomDag(
  seed: number,
  { nodes, groups = 0, reach = 12, maxInputs = 3, scattered = false }: RandomOptions,
): Builder {
  const next = random(seed),
    b = new Builder();
  for (let g = 0; g < groups; g++) b.open(`group_${g}`, next() < 0.5 ? -1 : below(next, g + 1) - 1);
  let home = -1,
    left = 0;
  for (let n = 0; n < nodes; n++) {
    if (left-- <= 0) {
      home = groups === 0 || next() < 0.3 ? -1 : below(next, groups);
      left = scattered ? 0 : 1 + below(next, 9);
    }
    const inputs: number[] = [];
    const count = n === 0 || next() < 0.12 ? 0 : 1 + below(next, maxInputs);
    for (let k = 0; k < count; k++)
      inputs.push(next() < 0.9 ? Math.max(0, n - 1 - below(next, reach)) : below(next, n));
    b.node(
      ["add", "nn.conv2d", "multiply", "cast", "nn.batch_matmul", "reshape"][below(next, 6)],
      home,
      inputs,
      26 + below(next, 30),
    );
  }
  return b;
}
