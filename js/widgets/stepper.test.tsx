import assert from "node:assert/strict";
import { test } from "node:test";
import { mount } from "../components/mount.tsx";
import { all, drawn, halfStage } from "../dom_testing.ts";
import { compare } from "../graph/picture.ts";
import { diff, graph } from "../graph/testing.ts";
import { LoopsAndText } from "./stepper.tsx";

globalThis.IntersectionObserver = class {
  observe() {}
  disconnect() {}
} as unknown as typeof IntersectionObserver;

const state = (...names: string[]) => ({
  text: names.map((name) => `for ${name} in range(8):`).join("\n"),
  lines: Uint32Array.of(0),
  loops: names.map((name) => ({ depth: 1, kind: "loop" as const, name, extent: "8", bound: "", bytes: null })),
});

test("the loops of a program that only calls PrimFuncs are beside its text, the new ones marked", async () => {
  const lone = graph("x:param");
  const picture = compare(lone, lone, diff("kept", "kept", "0-0"));
  const show = async (before: string[], after: string[]) => {
    mount(null, document.body);
    const texts = [state(...before), state(...after)] as const;
    mount(<LoopsAndText stage={halfStage()} texts={texts} picture={picture} words="" />, document.body);
    await drawn();
    return all(".wb-tree li").map((row) => [row.textContent, row.classList.contains("wb-tree-new")]);
  };
  assert.deepEqual(await show(["i"], ["i", "<b>j"]), [
    ["for i in range(8)", false],
    ["for <b>j in range(8)", true],
  ]);
  assert.deepEqual(await show(["i"], []), []);
});
