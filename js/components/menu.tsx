/** A button that opens a menu: arrow keys move in it, Escape closes it. */
import { type ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface MenuItem {
  words: string;
  /** The key that does the same without the menu. */
  key: string;
  testid: string;
  disabled?: boolean;
  act: () => void;
}

interface MenuProps {
  label: string;
  testid: string;
  items: readonly MenuItem[];
  children: ComponentChildren;
}

export function Menu({ label, testid, items, children }: MenuProps) {
  const [open, setOpen] = useState(false);
  const place = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const faces = () => [...(place.current?.querySelectorAll<HTMLElement>("[role=menuitem]:not(:disabled)") ?? [])];
  useLayoutEffect(() => {
    if (!open) return;
    faces()[0]?.focus();
    place.current?.querySelector("[role=menu]")?.scrollIntoView({ block: "nearest" });
  }, [open]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const key = (event: KeyboardEvent) => {
    if (!open) return;
    const list = faces();
    const at = list.findIndex((face) => face.matches(":focus"));
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") close();
    else if (step) list[(at + step + list.length) % list.length]?.focus();
    else if (event.key !== "Enter" && event.key !== " " && event.key !== "Tab") return;
    event.stopPropagation();
    if (step || event.key === "Escape") event.preventDefault();
  };
  return (
    <span
      role="none"
      class="wb-menu"
      ref={place}
      onKeyDown={key}
      onFocusOut={({ relatedTarget }) => {
        if (!(relatedTarget instanceof Node && place.current?.contains(relatedTarget))) setOpen(false);
      }}
    >
      <button
        ref={button}
        type="button"
        class="wb-button"
        title={label}
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={open}
        data-testid={testid}
        onClick={() => setOpen(!open)}
      >
        {children}
      </button>
      {open && (
        <div class="wb-menu-items" role="menu" aria-label={label}>
          {items.map(({ words, key, testid, disabled, act }) => (
            <button
              key={testid}
              type="button"
              role="menuitem"
              tabIndex={-1}
              disabled={disabled}
              data-testid={testid}
              onClick={() => {
                close();
                act();
              }}
            >
              <span>{words}</span>
              <span class="wb-dim">{key}</span>
            </button>
          ))}
        </div>
      )}
    </span>
  );
}
