import assert from "node:assert/strict";
import { test } from "node:test";
import {
  all,
  click,
  draw,
  drawn,
  enter,
  focused,
  focusOutside,
  part,
  press,
  send,
  sent,
  texts,
} from "../dom_testing.ts";
import { type Catalog, type PassState, type State } from "../model/messages.ts";
import { PassList } from "./pass_list.tsx";
import { FoundPasses } from "./pass_row.tsx";

const pass = (name: string, more: Partial<PassState> = {}): PassState => ({
  ...{ name, enabled: true, locked: false, reason: "", doc: `${name} does it. And more.`, status: "same" },
  ...more,
});
const FOLD = { name: "depth", type: "int", kind: "int", default: "4", required: false };
const CATALOG: Catalog = {
  passes: [
    {
      ...{ name: "Fold", doc: "Fold constants: all.", opt_level: 2, locked: "", reason: "", ours: false },
      options: [FOLD],
    },
    {
      ...{ name: "Merge", doc: "", opt_level: null, locked: "", reason: "it takes patterns", ours: false },
      options: [],
    },
  ],
  settings: [{ name: "relay.depth", type: "int", kind: "int", default: "", required: false }],
};
const THREE = [pass("Simplify"), pass("Fold", { status: "changed", added: 1, merged: 2 }), pass("Fuse")];

async function show(state: State): Promise<void> {
  await draw(<PassList state={state} catalog={CATALOG} checks={{}} send={send} />);
}

const stops = () => document.querySelectorAll('[data-testid="pass-list"] [tabindex="0"]');

test("a click on a name shows its step, and a row has one button beside the name", async () => {
  await show({ passes: THREE, step: 1 });
  part("pass-2").click();
  assert.deepEqual(sent, [{ type: "step", index: 2 }]);
  assert.equal(part("pass-1").getAttribute("aria-current"), "step");
  assert.equal(part("pass-1").parentElement?.querySelectorAll("button").length, 2, "the name and the menu button");
});

test("the list is one tab stop, and arrows move inside it", async () => {
  await show({ passes: THREE });
  assert.equal(stops().length, 1);
  part("pass-0").focus();
  await press("ArrowDown");
  assert.equal(focused(), "pass-1");
  await press("ArrowRight");
  assert.equal(focused(), "tools-1");
  await press("ArrowUp");
  assert.equal(focused(), "tools-0");
  await press("ArrowLeft");
  await press("ArrowLeft");
  assert.equal(focused(), "toggle-Simplify");
  await press("End");
  assert.equal(focused(), "toggle-Fuse");
  assert.equal(stops().length, 1);
});

test("keys move, duplicate and remove a pass, and the focus goes with it", async () => {
  await show({ passes: THREE });
  part("pass-1").focus();
  await press("ArrowUp", { altKey: true });
  assert.equal(focused(), "pass-0");
  await press("ArrowUp", { altKey: true });
  await press("+");
  assert.equal(focused(), "pass-1");
  await press("Delete");
  assert.deepEqual(sent, [
    { type: "move", index: 1, to: 0 },
    { type: "duplicate", index: 0 },
    { type: "remove", index: 1 },
  ]);
  part("pass-2").focus();
  await press("Delete");
  await show({ passes: THREE.slice(0, 2) });
  assert.equal(focused(), "pass-1", "the last row went away");
});

test("the menu of a row has its tools; Escape closes it and goes back to its button", async () => {
  await show({ passes: THREE });
  part("tools-0").focus();
  await click("tools-0");
  assert.equal(part<HTMLButtonElement>("up-0").disabled, true);
  assert.equal(focused(), "down-0");
  await press("ArrowDown");
  assert.equal(focused(), "duplicate-0");
  await press("Escape");
  assert.equal(all("[role=menu]").length, 0);
  assert.equal(focused(), "tools-0");
  await click("tools-0");
  part("down-0").click();
  assert.deepEqual(sent, [{ type: "move", index: 0, to: 1 }]);
});

test("options open by key, and a refused value is answered beside its field", async () => {
  await show({ passes: THREE });
  part("pass-1").focus();
  await press("o");
  await drawn();
  assert.equal(focused(), "option-1-depth");
  await show({ passes: THREE, refused: { form: "pass 1", field: "depth", text: "0.5 is not a whole number" } });
  assert.equal(part("option-1-depth-refused").textContent, "0.5 is not a whole number");
});

test("a refusal opens the options of its pass", async () => {
  await show({ passes: THREE, refused: { form: "pass 1", field: "", text: "Fold failed" } });
  await drawn();
  assert.match(part("details-1").textContent, /Fold failed/);
});

test("the filter hides passes and finds others by their description, added after the step that is shown", async () => {
  await show({ passes: THREE, step: 0 });
  await enter("pass-filter", "constants");
  assert.equal(part("pass-0").closest("li")?.hidden, true);
  assert.match(part("catalog").textContent, /Add after Simplify:\+ Fold ≥ 2Fold constants$/);
  part("add-Fold").click();
  assert.deepEqual(sent, [{ type: "add", name: "Fold", index: 1 }]);
  await drawn();
  assert.equal(part<HTMLInputElement>("pass-filter").value, "");
  await enter("pass-filter", "merge");
  assert.equal(part<HTMLButtonElement>("add-Merge").disabled, true);
  assert.match(part("catalog").textContent, /Not by name: it takes patterns/);
});

test("a long catalogue is listed whole", async () => {
  const first = CATALOG.passes?.[0];
  assert.ok(first);
  const passes = Array.from({ length: 82 }, (_, i) => ({ ...first, name: `Pass${i}` }));
  await draw(<FoundPasses catalog={{ passes }} wanted="" place="at the end" add={() => undefined} />);
  assert.ok(part("add-Pass81"));
});

test("of the compiler's own passes the locked ones cannot be switched, and config keys are set", async () => {
  const toggles = [pass("Fuse", { locked: true, reason: "lowering takes kernels" }), pass("Fold", { opt_level: 2 })];
  await show({ mode: "context", context: { toggles } });
  assert.equal(part<HTMLInputElement>("toggle-Fuse").disabled, true);
  assert.equal(stops()[0], part("toggle-Fold"));
  part("toggle-Fold").click();
  await enter("pass-filter", "depth");
  await enter("setting-relay.depth", "1", "change");
  assert.deepEqual(sent, [
    { type: "toggle_context", name: "Fold", enabled: false },
    { type: "setting", name: "relay.depth", text: "1" },
  ]);
});

test("names are text, and never markup", async () => {
  await show({ passes: [pass("<img src=x>", { options: { "<b>": "<i>" }, doc: "<u>" })] });
  assert.equal(all("img, b, i, u").length, 0);
  assert.equal(part("pass-0").textContent, "<img src=x> <b>=<i>");
});

test("a line may break between the words of a name", async () => {
  await show({ passes: [pass("EliminateCommonSubexpr")] });
  assert.equal(part("pass-0").textContent, "EliminateCommonSubexpr");
  assert.equal(part("pass-0").querySelectorAll("wbr").length, 2);
});

test("a pass that failed one that lowered and one that changed only the grouping are described in words", async () => {
  await show({
    passes: [
      pass("A", { status: "error", message: "boom" }),
      pass("B", { status: "changed" }),
      pass("C", { status: "changed", lowered: 2 }),
    ],
  });
  assert.deepEqual(texts(".wb-effect"), ["! failed", "regrouped", "lowered"]);
});

test("a pass with open options keeps the focus when it is moved", async () => {
  await show({ passes: THREE });
  part("pass-1").focus();
  await press("o");
  assert.equal(focused(), "option-1-depth");
  part("pass-1").focus();
  await press("ArrowDown", { altKey: true });
  await show({ passes: [pass("Simplify"), pass("Fuse"), pass("Fold")] });
  assert.ok(part("details-2"));
  assert.equal(focused(), "pass-2");
});

test("a pass that is added late leaves the focus to what was chosen outside meanwhile", async () => {
  await show({ passes: THREE });
  part("pass-2").focus();
  await press("+");
  const outside = focusOutside();
  await show({ passes: [...THREE, pass("Fuse")] });
  assert.ok(document.activeElement === outside);
});
