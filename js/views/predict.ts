/** A question, a field for a guess, and then the answer. */
import { button, h, replace } from "./dom.ts";
import { watch, type Model } from "./model.ts";
import { Shell } from "./shell.ts";

export function predict(model: Model, el: HTMLElement): () => void {
  const shell = new Shell(el, "predict");
  const question = h("span", { class: "wb-predict-question" });
  const entry = h("span", { class: "wb-predict-entry" });
  const said = h("div", { class: "wb-predict-said", role: "status", "aria-live": "polite", "data-testid": "predict-said" });
  shell.root.append(h("div", { class: "wb-predict-asked" }, question, entry), said);

  const ask = (guess: string) => model.send({ type: "reveal", guess });
  const told = () => model.get("shown") ?? { stage: "asked" };

  const askable = () => {
    const choices = (model.get("choices") ?? []) as string[];
    const show = button("Show me", "The answer, without a prediction", () => ask(""), { "data-testid": "predict-show" });
    if (choices.length > 0) return [h("span", { class: "wb-segments" }, choices.map((choice) => segment(choice, () => ask(choice)))), show];
    const field = h("input", { type: "text", class: "wb-input", placeholder: "your guess", "aria-label": "Your prediction", autocomplete: "off", "data-testid": "predict-guess" });
    const guess = button("Check", "Compare the guess with the answer (Enter)", () => given(), { class: "wb-button wb-primary", "data-testid": "predict-check" });
    const given = () => (field.value.trim() ? ask(field.value.trim()) : field.focus());
    field.addEventListener("keydown", (event) => { if (event.key === "Enter") given(); });
    return [field, h("span", { class: "wb-dim" }, String(model.get("unit") ?? "")), guess, show];
  };

  const draw = () => {
    const { stage, said: words, right, because } = told();
    replace(question, String(model.get("question") ?? ""));
    replace(entry, ...(stage === "asked" || stage === "failed" ? askable() : []));
    const guessed = Boolean(model.get("guess"));
    const sign = stage !== "shown" || !guessed ? null : right ? h("span", { class: "wb-sign wb-mark-added" }, "✓") : h("span", { class: "wb-sign wb-mark-removed" }, "≠");
    const line = stage === "busy" ? "Finding out …" : words;
    replace(said, line && h("span", { class: stage === "failed" ? "wb-bad" : "wb-strong" }, sign, line), because && ` ${because}`);
    said.hidden = !line;
  };
  draw();
  const end = watch(model, ["question", "unit", "choices", "guess", "shown"], draw);
  return () => { end(); shell.dispose(); };
}

function segment(face: string, onclick: () => void): HTMLElement {
  return h("button", { type: "button", class: "wb-segment", onclick, "data-testid": "predict-choice" }, face);
}
