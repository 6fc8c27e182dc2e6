/** One field of a form: an option of a pass, or a key of PassContext's config, with the reason why its text was refused. */
import { type TargetedEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type FieldSpec } from "../model/messages.ts";
import { Breakable } from "./breakable.tsx";
import { usePageId } from "./mount.tsx";

interface FieldProps {
  spec: FieldSpec;
  /** The value as typed; undefined where the default holds. */
  value: string | undefined;
  /** Why the typed text was refused; "" where it was not. */
  refused: string;
  testid: string;
  /** Called with the text as Python reads it; "" is the default. */
  commit: (text: string) => void;
}

export function Field(props: FieldProps) {
  const { spec, refused, testid } = props;
  const initial = spec.default ?? "";
  const title = `${spec.name}: ${spec.type}${initial ? `, by default ${initial}` : ""}`;
  const id = usePageId();
  const shared = { id, "aria-label": spec.name, title, "data-testid": testid, "aria-invalid": refused !== "" };
  const Control = spec.kind !== "bool" ? TextControl : initial ? BoxControl : ListControl;
  return (
    <label class="wb-field" for={id}>
      <span title={title}>
        <Breakable name={spec.name} />
      </span>
      <Control {...props} shared={shared} />
      <span class="wb-refused" role="alert" data-testid={refused ? `${testid}-refused` : undefined}>
        {refused}
      </span>
    </label>
  );
}

type ControlProps = FieldProps & { shared: Record<string, string | boolean> };

function BoxControl({ spec, value, commit, shared }: ControlProps) {
  return (
    <input
      {...shared}
      type="checkbox"
      checked={(value ?? spec.default) === "True"}
      onChange={(event) => commit(event.currentTarget.checked ? "True" : "False")}
    />
  );
}

function ListControl({ value, commit, shared }: ControlProps) {
  return (
    <select {...shared} class="wb-select" value={value ?? ""} onChange={(event) => commit(event.currentTarget.value)}>
      <option value="">not set</option>
      <option value="True">True</option>
      <option value="False">False</option>
    </select>
  );
}

function TextControl({ spec, value = "", refused, commit, shared }: ControlProps) {
  const input = useRef<HTMLInputElement>(null);
  const typing = useRef(false);
  useLayoutEffect(() => {
    const { current } = input;
    // A refused text stays, so that it can be mended; a text that is being typed is not overwritten.
    if (current && !refused && !typing.current && current.value !== value) current.value = value;
  });
  const number = spec.kind === "int" || spec.kind === "float";
  const field = {
    ...shared,
    ref: input,
    class: "wb-input",
    spellcheck: false,
    placeholder: spec.default || placeholder(spec),
    onInput: () => {
      typing.current = true;
    },
    onBlur: () => {
      typing.current = false;
    },
    onChange: ({ currentTarget }: TargetedEvent<HTMLInputElement>) => {
      typing.current = false;
      // The page gives no text of a number field that holds no number, and no text would be the default.
      commit(currentTarget.validity.badInput ? "the text typed" : currentTarget.value);
    },
  };
  return number ? (
    <input {...field} type="number" step={spec.kind === "int" ? "1" : "any"} />
  ) : (
    <input {...field} type="text" />
  );
}

function placeholder({ kind, type, required }: FieldSpec): string {
  if (required) return `${type}, needed`;
  return kind === "any" ? "a Python literal" : type;
}
