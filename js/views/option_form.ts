/** One field of a form: an option of a pass, or a key of PassContext's config. What is wrong with it stands beside it. */
import { h, setText } from "./dom.ts";
import { type FieldSpec } from "./messages.ts";

export class Field {
  readonly element: HTMLElement;
  readonly input: HTMLInputElement | HTMLSelectElement;
  private readonly words = h("span", { class: "wb-refused", role: "alert" });
  /** Whether something was typed and is not committed yet: no news may overwrite it. */
  private typing = false;

  /** `commit` gets the text as Python reads it; "" stands for the default. */
  constructor(readonly spec: FieldSpec, private readonly testid: string, commit: (text: string) => void) {
    const { name, kind, type } = spec;
    const initial = spec.default ?? "";
    const props = { "aria-label": name, title: `${name}: ${type}${initial ? `, by default ${initial}` : ""}`, "data-testid": testid };
    if (kind === "bool" && initial) {
      const box: HTMLInputElement = h("input", { ...props, type: "checkbox", onchange: () => commit(box.checked ? "True" : "False") });
      this.input = box;
    } else if (kind === "bool") {
      const list: HTMLSelectElement = h("select", { ...props, class: "wb-select", onchange: () => commit(list.value) }, ["", "True", "False"].map((value) => h("option", { value }, value || "not set")));
      this.input = list;
    } else {
      const number = kind === "int" || kind === "float";
      const text: HTMLInputElement = h("input", {
        ...props, class: "wb-input", type: number ? "number" : "text", step: kind === "int" ? "1" : "any", spellcheck: "false", placeholder: initial || (spec.required ? `${type}, needed` : kind === "any" ? "a Python literal" : type),
        // Not a number: the page gives no text then, and no text would be the default.
        oninput: () => { this.typing = true; },
        // Where what was typed is what was there, nothing is committed.
        onblur: () => { this.typing = false; },
        onchange: () => {
          this.typing = false;
          commit(text.validity.badInput ? "what was typed" : text.value);
        },
      });
      this.input = text;
    }
    this.element = h("label", { class: "wb-field" }, h("span", { title: props.title }, name), this.input, this.words);
  }

  update(value: string | undefined, refused: string): void {
    const { input } = this;
    // What was refused stays for who wants to mend it.
    if (!refused) {
      if (input instanceof HTMLInputElement && input.type === "checkbox") input.checked = (value ?? this.spec.default) === "True";
      else if (!this.typing && input.value !== (value ?? "")) input.value = value ?? "";
    }
    input.setAttribute("aria-invalid", String(refused !== ""));
    setText(this.words, refused);
    if (refused) this.words.setAttribute("data-testid", `${this.testid}-refused`);
  }
}
