import assert from "node:assert/strict";
import test from "node:test";
import { PAGE } from "./colours.ts";
import { PAPER } from "./paper.ts";
import { variables } from "./theme.ts";

test("a variable has the page's colour, JupyterLab's first where it has one", () => {
  const [light, dark] = variables().split(".wb.wb-dark");
  assert.ok(light.includes(`--wb-added:${PAGE.added[0]};`) && dark.includes(`--wb-added:${PAGE.added[1]};`));
  assert.ok(light.includes(`--wb-ink:var(--jp-ui-font-color1,${PAGE.ink[0]});`));
});

test("a picture has the light colours, and mixes the others from them", () => {
  assert.deepEqual(PAPER.mark.slice(1, 4), [PAGE.changed[0], PAGE.removed[0], PAGE.added[0]]);
  assert.deepEqual([PAPER.group, PAPER.kernel], ["#f7f8fa", "#e9ecf1"]);
});
