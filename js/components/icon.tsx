import { MARKS } from "../model/messages.ts";

/** Signs that not every font has, as small drawings in the colour of the text. */
const PATHS = {
  merged: "M4 2v3l4 4v5M12 2v3l-4 4",
  split: "M8 2v5l-4 4v3M8 7l4 4v3",
  full: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4",
  save: "M8 2v8M4.5 7 8 10.5 11.5 7M3 13.5h10",
  lock: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  undo: "M6 3 2.5 6.5 6 10M2.5 6.5H10a3.5 3.5 0 0 1 0 7H7",
  redo: "M10 3l3.5 3.5L10 10M13.5 6.5H6a3.5 3.5 0 0 0 0 7h3",
  pin: "M5.5 2h5M6.5 2v4.5L4 9.5h8L9.5 6.5V2M8 9.5V14",
} as const;

/** The signs of the other marks. */
export const SIGNS = { kept: "", changed: "~", removed: "−", added: "+" } as const;

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="wb-icon" viewBox="0 0 16 16" width="13" height="13" aria-hidden="true">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.7"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

/** The sign of a mark, by its number. */
export function MarkSign({ mark }: { mark: number }) {
  const name = MARKS[mark];
  return name === "merged" || name === "split" ? <Icon name={name} /> : SIGNS[name ?? "kept"];
}
