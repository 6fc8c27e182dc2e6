/** TVM's strings made short enough for a box: types, constants, attributes. Everything here is plain text. */

const DTYPE_BITS: Record<string, number> = { bool: 8, handle: 64 };
/** Longest text looked at: hostile names and huge tuple types must not cost a frame. */
const LIMIT = 2000;

/** Most of a graph's texts are among a few: what was made of one is kept, up to a most. */
export function remembered<T>(make: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    let made = known.get(text);
    if (made === undefined) {
      if (known.size >= 4000) known.clear();
      made = make(text);
      known.set(text, made);
    }
    return made;
  };
}

/** "Tensor[(1, 64), float32]" and 'R.Tensor((1, 64), dtype="float32")' both give "(1, 64) float32". */
export const compactType = remembered((type) =>
  type
    .slice(0, LIMIT)
    .replace(/Tensor\[(\([^()\]]*\)|[^,\]]*), ([\w.]+)\]/g, "$1 $2")
    .replace(
      /R\.Tensor\((\([^()]*\)|None)?(?:, )?(?:dtype="([^"]*)")?(?:, ndim=(-?\d+))?\)/g,
      (_all, shape?: string, dtype?: string, rank?: string) =>
        `${shape ?? (rank ? `rank ${rank}` : "?")} ${dtype ?? ""}`.trim(),
    )
    .replace(/R\.(Tuple|Shape|Prim|Object)\b/g, "$1"),
);

/** The dimensions of a single tensor type, or null: "(1, 64)" gives ["1", "64"]. */
function shape(type: string): string[] | null {
  const [, dims] = /^\(([^()]*)\)/.exec(compactType(type)) ?? [];
  if (dims === undefined) return null;
  return dims
    .split(",")
    .map((d) => d.trim())
    .filter((d) => d !== "");
}

/** "(64, 64, 3, 3) float32" as "64x64x3x3"; a scalar gives "". */
export const shortShape = remembered((type) => shape(type)?.join("x") ?? "");

export const dtype = remembered((type) => /\)\s*([a-z]\w*)\s*$/.exec(compactType(type))?.[1] ?? "");

/** Bytes of all tensors in a type; a dynamic dimension counts as 1, since only the order of magnitude is drawn. */
export const bytes = remembered((type) => {
  let total = 0;
  for (const [, dims = "", name = ""] of compactType(type).matchAll(/\(([^()]*)\) ([a-z]\w*)/g)) {
    const bits = DTYPE_BITS[name] ?? Number(/\d+/.exec(name)?.[0] ?? 32);
    const count = dims.split(",").reduce((product, d) => (d.trim() === "" ? product : product * (Number(d) || 1)), 1);
    total += (count * bits) / 8;
  }
  return total;
});

/** What stands on a constant's or weight's badge: "w 64x64x3x3", or the value itself where it is a scalar. */
export function badgeText(kind: "param" | "constant", label: string, name: string, type: string): string {
  const dims = shortShape(type);
  if (kind === "constant") {
    const value = label.slice(0, 40);
    if (dims === "" && value !== "" && !value.startsWith("meta[")) return value.replace(/f$/, "");
    return `${name.slice(0, 40) || "const"} ${dims}`.trim();
  }
  return `${(label || name).slice(0, 40)} ${dims}`.trim();
}

/** Default values of TVM operators; a label leaves them out. */
const USUAL: Record<string, readonly string[]> = {
  strides: ["[1]", "[1,1]", "[1,1,1]", "1"],
  padding: ["[0]", "[0,0]", "[0,0,0,0]", "[0,0,0,0,0,0]", "0"],
  dilation: ["[1]", "[1,1]", "[1,1,1]", "1"],
  groups: ["1"],
  data_layout: ['"NCHW"', '"NCW"', '"NCDHW"'],
  kernel_layout: ['"OIHW"', '"OIW"', '"OIDHW"'],
  layout: ['"NCHW"', '"NCW"'],
  out_layout: ['""'],
  out_dtype: ['""', '"void"'],
  auto_scheduler_rewritten_layout: ['""'],
  meta_schedule_original_shape: ["[]", "null"],
  ceil_mode: ["false", "0"],
  count_include_pad: ["false", "0"],
  keepdims: ["false", "0"],
  exclude: ["false", "0"],
  transpose_a: ["false", "0"],
  transpose_b: ["true", "1"],
  allowzero: ["false", "0"],
};

/** Attributes as [name, value] pairs, all of them, in the sender's order. */
export function attributes(json: string): [string, string][] {
  if (json === "") return [];
  try {
    const value: unknown = JSON.parse(json);
    if (value === null || typeof value !== "object") return [];
    return Object.entries(value).map(([key, v]) => [
      key,
      typeof v === "string" ? JSON.stringify(v) : (JSON.stringify(v) ?? ""),
    ]);
  } catch {
    return [["attributes", json]];
  }
}

/** DLPack's numbers of the devices that people have. */
const DEVICES: Record<string, string> = {
  1: "cpu",
  2: "cuda",
  3: "cuda_host",
  4: "opencl",
  7: "vulkan",
  8: "metal",
  10: "rocm",
  12: "ext_dev",
  15: "webgpu",
  16: "hexagon",
};

/** "cuda:0" for a VirtualDevice as TVM prints it, with a target of a hundred letters or without; "" for anything else. */
function device(value: string): string {
  const [, kind, id] = /^"VirtualDevice\(device_type=(\d+), virtual_device_id=(-?\d+)/.exec(value) ?? [];
  return kind ? `${DEVICES[kind] ?? `device ${kind}`}:${id}` : "";
}

/** One line with what was chosen: "strides 2,2  padding 1,1,1,1". */
export function chosenAttributes(json: string, resultType = ""): string {
  const result = dtype(resultType);
  const parts: string[] = [];
  for (const [key, value] of attributes(json)) {
    if (value === "null" || value === '""' || USUAL[key]?.includes(value)) continue;
    // A result type that the line above already says.
    if ((key === "dtype" || key === "out_dtype") && result !== "" && value === `"${result}"`) continue;
    const where = device(value);
    // "src_virtual_device" and where: "src cpu:0"
    parts.push(
      where
        ? `${key.replace(/_?virtual_device$/, "") || "on"} ${where}`
        : `${key} ${value
            .replace(/^\[(.*)\]$/, "$1")
            .replace(/"/g, "")
            .slice(0, 60)}`,
    );
    if (parts.length === 6) break;
  }
  return parts.join("  ");
}

const SMALL_WORDS = /^(relay|relax|R|T)\./;

/** An op's name in plain words: the dialect's prefix says nothing on a picture of one dialect. */
export function opName(label: string): string {
  return label.replace(SMALL_WORDS, "");
}

/** A group's name for people: the prefix that TVM puts before every kernel of a module says nothing. */
export const groupName = remembered((name) =>
  name
    .slice(0, 300)
    .replace(/[\u0000-\u001f\u007f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, " ")
    .replace(/^tvmgen_\w*?_(?=fused_)/, ""),
);
