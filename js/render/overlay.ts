/** Measured values as colours: cividis, which is even in lightness and reads the same for colour-blind people. */

export interface Overlay {
  title: string;
  unit: string;
  values: Map<number, number>;
  low: number;
  high: number;
}

const CIVIDIS = [
  [0, 32, 76], [0, 48, 111], [57, 72, 107], [87, 93, 109], [112, 113, 115], [138, 134, 120], [166, 157, 117], [196, 181, 108], [228, 207, 91], [255, 234, 70],
] as const;

export function cividis(t: number): string {
  const at = Math.min(1, Math.max(0, t)) * (CIVIDIS.length - 1);
  const i = Math.min(CIVIDIS.length - 2, Math.floor(at));
  const part = at - i;
  const channel = (k: 0 | 1 | 2) => Math.round(CIVIDIS[i][k] * (1 - part) + CIVIDIS[i + 1][k] * part);
  return `rgb(${channel(0)},${channel(1)},${channel(2)})`;
}

/** Dark text on the bright end, bright text on the dark end. */
export function inkOn(t: number): string {
  return t > 0.5 ? "#111" : "#fff";
}

export function readOverlay(raw: unknown): Overlay | null {
  const data = raw as { title?: unknown; unit?: unknown; values?: Record<string, unknown> } | null;
  if (!data?.values) return null;
  const values = new Map<number, number>();
  for (const [id, value] of Object.entries(data.values)) if (typeof value === "number" && Number.isFinite(value)) values.set(Number(id), value);
  if (values.size === 0) return null;
  return {
    title: String(data.title ?? ""), unit: String(data.unit ?? ""), values,
    // Set where the values meet the items drawn.
    low: 0, high: 0,
  };
}

export function position(overlay: Overlay, value: number): number {
  return overlay.high > overlay.low ? (value - overlay.low) / (overlay.high - overlay.low) : 1;
}

export function formatValue(value: number): string {
  return Math.abs(value) >= 1000 || value === 0 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}
