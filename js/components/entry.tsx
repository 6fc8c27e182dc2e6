/** A field of a panel. What is typed or dragged is the reader's until it is sent. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { type Entry } from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { oneLine } from "../render/text.ts";
import { usePageId } from "./mount.tsx";

type Field = HTMLInputElement & HTMLSelectElement & HTMLTextAreaElement;

export function EntryField({ block, send }: { block: Entry; send: Send | undefined }) {
  const { kind, name, label, value, options } = block;
  const id = usePageId();
  const field = useRef<Field>(null);
  useLayoutEffect(() => {
    const input = field.current;
    if (!input) return;
    if (kind === "check") input.checked = value === true;
    else if (!input.matches(":active")) input.value = String(value);
  }, [kind, value, options, block.max]);
  const give = () => {
    const input = field.current;
    if (input) send?.({ type: "set", name, value: kind === "check" ? String(input.checked) : input.value });
  };
  const shared = { id, ref: field, "data-testid": name, "aria-label": label || name, disabled: !send };
  const limits = { min: block.min, max: block.max, class: "wb-input" };
  return (
    <label class={`wb-label wb-field-${kind}`} for={id}>
      {label}
      {kind === "select" && <Select options={options ?? []} onChange={give} {...shared} />}
      {kind === "area" && <Area hint={block.hint} onGive={give} {...shared} />}
      {kind === "check" && <input type="checkbox" class="wb-input" onChange={give} {...shared} />}
      {kind === "range" && <input type="range" onInput={give} {...limits} {...shared} />}
      {kind === "number" && <input type="number" placeholder={block.hint} onChange={give} {...limits} {...shared} />}
      {kind === "text" && <input type="text" class="wb-input" placeholder={block.hint} onChange={give} {...shared} />}
      <span class="wb-dim">{block.show ?? ""}</span>
    </label>
  );
}

interface Shared {
  id: string;
  ref: { current: Field | null };
  disabled: boolean;
}

function Select({ options, ...props }: Shared & { options: NonNullable<Entry["options"]>; onChange(): void }) {
  return (
    <select class="wb-select" {...props}>
      {options.map((option) => {
        const [value = "", words = ""] = Array.isArray(option) ? option : [String(option), String(option)];
        return (
          <option key={value} value={value}>
            {oneLine(words, 80)}
          </option>
        );
      })}
    </select>
  );
}

function Area({ hint, onGive, ...props }: Shared & { hint: string | undefined; onGive(): void }) {
  const key = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onGive();
  };
  return (
    <textarea
      class="wb-input"
      rows={5}
      spellcheck={false}
      placeholder={hint}
      onChange={onGive}
      onKeyDown={key}
      {...props}
    />
  );
}
