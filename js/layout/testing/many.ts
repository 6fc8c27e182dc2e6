/** The number of random cases: a few, or with LONG=1 in the environment as many as the long tests run. */
export function many(few: number, long: number): number {
  return process.env.LONG === "1" ? long : few;
}
