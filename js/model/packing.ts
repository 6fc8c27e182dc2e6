/** Messages whose bytes came beside them: workbench/widgets/payload.py wrote `{buffer: n}` where each was. */
export function unpacked<T>(message: T, buffers: readonly unknown[]): T {
  // Bytes take the place of `{buffer: n}`, as the message's type says already.
  return put(message, buffers) as T;
}

function put(value: unknown, buffers: readonly unknown[]): unknown {
  if (Array.isArray(value)) return value.map((item) => put(item, buffers));
  if (value === null || typeof value !== "object") return value;
  if ("buffer" in value && typeof value.buffer === "number") return buffers[value.buffer];
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, put(item, buffers)]));
}
