/** A size that the reader chose, for the next page too. */
import { useState } from "preact/hooks";

/** The number stored under a name; null where none was chosen. */
export function useRemembered(name: string): [number | null, (value: number | null) => void] {
  const [value, setValue] = useState(() => read(name));
  return [
    value,
    (next) => {
      setValue(next);
      write(name, next);
    },
  ];
}

function read(name: string): number | null {
  try {
    const value = Number(localStorage.getItem(`wb-${name}`) ?? Number.NaN);
    return Number.isFinite(value) ? value : null;
  } catch {
    // A page in a sandbox has no storage.
    return null;
  }
}

function write(name: string, value: number | null): void {
  try {
    if (value === null) localStorage.removeItem(`wb-${name}`);
    else localStorage.setItem(`wb-${name}`, String(Math.round(value)));
  } catch {
    // As above; also where the storage is full.
  }
}
