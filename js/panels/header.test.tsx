import assert from "node:assert/strict";
import { test } from "node:test";
import { all, click, draw, drawn, enter, part, send, sent } from "../dom_testing.ts";
import { type Action, type Block, type PresetState, type State } from "../model/messages.ts";
import { Header } from "./header.tsx";

const preset = (name: string, more: Partial<PresetState> = {}): PresetState => ({
  ...{ name, doc: `${name} in words`, own: false, active: false, opt_level: 3 },
  ...more,
});

async function show(state: State, saved = false, form = FORM): Promise<void> {
  await draw(<Header state={state} form={form} saved={saved} send={send} />);
}

const choose = (value: string) => enter("presets", value, "change");

const PRESETS = [
  preset("opt 3"),
  preset("opt 2", { opt_level: 2 }),
  preset("casts"),
  preset("low", { opt_level: 1, own: true }),
];

test("the list shows the preset that the present choice is, and no preset where it is none", async () => {
  await show({ presets: PRESETS });
  const list = part<HTMLSelectElement>("presets");
  assert.equal(list.selectedOptions[0]?.textContent, "Presets");
  await show({ presets: PRESETS.map((each) => ({ ...each, active: each.name === "casts" })) });
  assert.equal(list.value, "casts");
  assert.match(list.title, /is the preset casts: casts in words/);
});

test("a preset that changes the opt level has it in its words", async () => {
  await show({ presets: PRESETS, context: { opt_level: 3 } });
  const words = [...part<HTMLSelectElement>("presets").options].map((option) => option.textContent);
  assert.deepEqual(words, ["Presets", "opt 3", "opt 2", "casts", "low · sets opt level 1", "Save or delete …"]);
});

test("a preset is sent to Python, and the list stays as it is until Python has chosen", async () => {
  await show({ presets: PRESETS });
  await choose("casts");
  assert.deepEqual(sent, [{ type: "preset", name: "casts" }]);
  assert.equal(part<HTMLSelectElement>("presets").value, "");
});

const button = (label: string, act: string, more: Partial<Action> = {}): Action => ({
  ...{ t: "act", label, act, title: "", off: "", arg: "" },
  ...more,
});
const FORM: Block[] = [button("Save", "preset-save", { field: "" }), button("× low", "preset-delete", { arg: "low" })];

test("a preset of one's own is named, saved, refused and deleted", async () => {
  await show({ presets: PRESETS });
  await choose("\u0000save");
  const name = part<HTMLInputElement>("preset-save-name");
  assert.equal(document.activeElement, name);
  name.value = "apart <b>";
  name.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  await show({ presets: PRESETS }, false, [
    ...FORM,
    { t: "p", text: "give <i>yours</i> a name", look: "bad", name: "preset-refused" },
  ]);
  assert.equal(part("preset-refused").textContent, "give <i>yours</i> a name");
  assert.equal(name.value, "apart <b>");
  await show({ presets: PRESETS }, false, [...FORM, button("× apart <b>", "preset-delete", { arg: "apart <b>" })]);
  assert.equal(document.activeElement, part("preset-save-name"));
  assert.equal(part<HTMLInputElement>("preset-save-name").value, "");
  all("[data-testid=act-preset-delete]")[1]?.click();
  assert.deepEqual(sent, [
    { type: "act", what: "preset-save", arg: "apart <b>" },
    { type: "act", what: "preset-delete", arg: "apart <b>" },
  ]);
  assert.equal(all("b, i").length, 0);
});

test("a file of presets that cannot be read opens the form", async () => {
  await show({ presets: PRESETS }, false, [...FORM, { t: "p", text: "damaged", look: "bad", name: "preset-refused" }]);
  assert.equal(part("preset-refused").closest("[hidden]"), null);
});

test("the form of presets gives the focus back to their list", async () => {
  await show({ presets: PRESETS });
  await choose("\u0000save");
  part("preset-save-name").dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  await drawn();
  assert.ok(document.activeElement === part("presets"));
});

test("the mode, the opt level and the function are chosen; one function leaves no choice", async () => {
  await show({ mode: "context", context: { opt_level: 2 }, entries: ["main", "other"], entry: "other" });
  assert.equal(part("context-mode").getAttribute("aria-pressed"), "true");
  assert.equal(part<HTMLSelectElement>("opt-level").value, "2");
  assert.equal(part<HTMLSelectElement>("entries").value, "other");
  part("pipeline-mode").click();
  part<HTMLSelectElement>("opt-level").value = "4";
  part("opt-level").dispatchEvent(new Event("change", { bubbles: true }));
  assert.deepEqual(sent, [
    { type: "mode", value: "pipeline" },
    { type: "opt_level", value: 4 },
  ]);
  await show({ entries: ["main"] });
  assert.equal(part("entries").hidden, true);
});

test("one note is one note", async () => {
  await show({ notes: ["repaired"] });
  assert.equal(part("noted").textContent, "1 note");
  assert.equal(part("notes").hidden, true);
  await click("noted");
  assert.equal(part("notes").hidden, false);
  await show({ notes: ["repaired", "assumed"] });
  assert.equal(part("noted").textContent, "2 notes");
});

test("in a saved page nothing can be chosen", async () => {
  await show({ presets: PRESETS }, true);
  assert.equal(part("undo").closest("fieldset")?.disabled, true);
});
