/** Mulberry32: a small seeded generator, so that every failing example can be named by its seed. */
type Random = () => number;

export function random(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function below(next: Random, n: number): number {
  return Math.floor(next() * n);
}

/** The number of random cases: a few, or with LONG=1 in the environment as many as the long tests run. */
export function many(few: number, long: number): number {
  return process.env.LONG === "1" ? long : few;
}
