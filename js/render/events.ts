/** Listeners by name, with types. */
export class Events<T extends Record<string, unknown>> {
  private readonly listeners = new Map<keyof T, Set<(value: never) => void>>();

  on<K extends keyof T>(name: K, listener: (value: T[K]) => void): () => void {
    const set = this.listeners.get(name) ?? new Set();
    set.add(listener as (value: never) => void);
    this.listeners.set(name, set);
    return () => set.delete(listener as (value: never) => void);
  }

  emit<K extends keyof T>(name: K, value: T[K]): void {
    for (const listener of this.listeners.get(name) ?? []) (listener as (value: T[K]) => void)(value);
  }
}
