/** Whether two values are the same JSON. */
export function equal(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [x, y] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
  return x.size === y.size && [...x].every(([key, value]) => y.has(key) && equal(value, y.get(key)));
}
