/** Measured values as colours: cividis, which is even in lightness and reads the same for colour-blind people. */

import { type OverlayState, type SideValues } from "../model/messages.ts";

export interface Overlay {
  title: string;
  unit: string;
  /** The graph's; or that of the graph before and that of the graph after. */
  sides: SideValues[];
  low: number;
  high: number;
}

const CIVIDIS = [
  [0, 32, 76],
  [0, 48, 111],
  [57, 72, 107],
  [87, 93, 109],
  [112, 113, 115],
  [138, 134, 120],
  [166, 157, 117],
  [196, 181, 108],
  [228, 207, 91],
  [255, 234, 70],
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

export function readOverlay(state: OverlayState | undefined): Overlay | null {
  if (!state?.values) return null;
  // The scale's ends are set where the values meet what is drawn.
  return { title: state.title ?? "", unit: state.unit ?? "", sides: [state, state.after ?? {}], low: 0, high: 0 };
}

export function position(overlay: Pick<Overlay, "low" | "high">, value: number): number {
  return overlay.high > overlay.low ? (value - overlay.low) / (overlay.high - overlay.low) : 1;
}

export function formatValue(value: number): string {
  return Math.abs(value) >= 1000 || value === 0
    ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(3)));
}
