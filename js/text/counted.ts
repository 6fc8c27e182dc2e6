/** A number with its noun: `1 kernel`, `2 passes`, `1,200 nodes`. */
export function counted(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural(noun)}`;
}

/** The plural of a noun or a phrase that ends in one. */
function plural(noun: string): string {
  if (/(s|x|ch|sh)$/.test(noun)) return `${noun}es`;
  return noun.endsWith("ry") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}

/** A size in a readable unit, as workbench/wording.py writes it. */
export function formatBytes(count: number): string {
  if (count < 1e3) return `${figures(count)} bytes`;
  if (count < 999.5e3) return `${figures(count / 1e3)} kB`;
  return count < 999.5e6 ? `${figures(count / 1e6)} MB` : `${figures(count / 1e9)} GB`;
}

/** A time in a readable unit, likewise. */
export function formatTime(microseconds: number): string {
  if (microseconds < 1) return `${figures(microseconds * 1e3)} ns`;
  if (microseconds < 1e3) return `${figures(microseconds)} µs`;
  return microseconds < 1e6 ? `${figures(microseconds / 1e3)} ms` : `${figures(microseconds / 1e6)} s`;
}

/** Three significant figures, without an exponent. */
function figures(value: number): string {
  return (value < 999.5 ? Number(value.toPrecision(3)) : Math.round(value)).toLocaleString("en");
}
