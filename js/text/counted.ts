/** A number with its noun: `1 kernel`, `2 passes`, `1,200 nodes`. */
export function counted(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural(noun)}`;
}

/** The plural of a noun or a phrase that ends in one. */
function plural(noun: string): string {
  if (/(s|x|ch|sh)$/.test(noun)) return `${noun}es`;
  return noun.endsWith("ry") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}
