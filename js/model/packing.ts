/** Messages whose bytes came beside them: workbench/widgets/payload.py wrote `{buffer: n}` where each was. */
export function unpacked(value: unknown, buffers: readonly unknown[]): unknown {
  if (Array.isArray(value)) return value.map((item) => unpacked(item, buffers));
  if (value === null || typeof value !== "object") return value;
  const { buffer } = value as { buffer?: unknown };
  if (typeof buffer === "number") return buffers[buffer];
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unpacked(item, buffers)]));
}
