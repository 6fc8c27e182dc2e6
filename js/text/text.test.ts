import assert from "node:assert/strict";
import test from "node:test";
import { random } from "../layout/testing/random.ts";
import { align, compareTexts, folds, rising, type TextRow } from "./compare.ts";
import { common } from "./myers.ts";
import { binding, compareLines, Names, type Piece, tokens, unnumbered } from "./words.ts";

/** The longest common subsequence's length, by the table that everybody knows. */
function longest(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = 1; i <= a.length; i++)
    for (let j = 1; j <= b.length; j++) {
      table[i][j] = a[i - 1] === b[j - 1] ? table[i - 1][j - 1] + 1 : Math.max(table[i - 1][j], table[i][j - 1]);
    }
  return table[a.length][b.length];
}

const kinds = (rows: readonly TextRow[]) => rows.map(({ kind }) => kind).join(" ");
const marked = (pieces: readonly Piece[]) => pieces.filter(({ differs }) => differs).map(({ text }) => text);

/** "0-1 1-2": line 0 with line 1, and so on. */
const pairs = (words: string) => words.split(" ").map((pair) => pair.split("-").map(Number) as [number, number]);

test("common finds as many as the table does, rising, and only equal ones", () => {
  const next = random(7);
  const word = () => Array.from({ length: Math.floor(next() * 14) }, () => "abc"[Math.floor(next() * 3)]).join("");
  for (let round = 0; round < 3000; round++) {
    const [a, b] = [word(), word()];
    const pairs = common(a.length, b.length, (i, j) => a[i] === b[j]);
    assert.equal(pairs.length, longest(a, b), `${a} ${b}`);
    pairs.forEach(([i, j], p) => {
      assert.equal(a[i], b[j]);
      assert.ok(p === 0 || (i > pairs[p - 1][0] && j > pairs[p - 1][1]));
    });
  }
});

test("beyond the most edits only the common ends are paired", () => {
  assert.deepEqual(
    common(4, 4, (i, j) => "abcx"[i] === "cabx"[j] && (i === 3 || j === i), 1),
    [[3, 3]],
  );
});

test("tokens join to the line, and names are one token", () => {
  const line =
    '  %12 = nn.conv2d(%p0, meta[relay.Constant][0], kernel="a b") /* ty=Tensor[(1, -3), float32] */;\ud83d\ude80 é';
  assert.equal(tokens(line).join(""), line);
  assert.ok(tokens(line).includes("%12") && tokens(line).includes("nn.conv2d"));
  assert.equal(binding(line), "%12");
  assert.equal(binding('    lv: R.Tensor((1,), dtype="float32") = R.add(x, y)'), "lv");
  assert.equal(binding("    lv = R.add(x, y)"), "lv");
  assert.equal(binding("  let %x: int32 = 1;"), "%x");
  assert.equal(binding("  add(%1, %2)"), null);
  assert.equal(unnumbered("%1 = f(%p0, %x.1)"), "% = f(%, %)");
});

test("rising keeps the longest part of the anchors that does not cross", () => {
  assert.deepEqual(rising(pairs("0-5 1-0 2-1 3-2 3-9 4-2")), pairs("1-0 2-1 3-2"));
  assert.deepEqual(rising([]), []);
});

test("every line is in a row, once, in order", () => {
  const next = random(3);
  const text = () => Array.from({ length: Math.floor(next() * 12) }, () => "pqr"[Math.floor(next() * 3)]);
  for (let round = 0; round < 500; round++) {
    const [a, b] = [text(), text()];
    const anchors = Array.from(
      { length: 3 },
      () => [Math.floor(next() * a.length), Math.floor(next() * b.length)] as [number, number],
    ).filter(([i, j]) => i < a.length && j < b.length);
    const rows = align(a, b, anchors);
    for (const [side, lines] of [["before", a] as const, ["after", b] as const]) {
      const placed = rows.map((row) => row[side]).filter((i) => i >= 0);
      assert.deepEqual(placed, [...lines.keys()]);
    }
  }
});

test("an anchored line stands beside its node's line, whatever the words are", () => {
  const rows = align(["%0 = a(%x)", "%1 = b(%0)"], ["%0 = new(%x)", "%1 = a(%0)", "%2 = c(%1)"], pairs("0-1 1-2"));
  assert.deepEqual(rows, [
    { before: -1, after: 0 },
    { before: 0, after: 1 },
    { before: 1, after: 2 },
  ]);
});

const NONE = () => false;

test("lines that are only numbered anew are the same", () => {
  const rows = compareTexts(
    ["%0 = a(%x)", "%1 = b(%0, %0)"],
    ["%0 = new(%x)", "%1 = a(%0)", "%2 = b(%1, %1)"],
    pairs("0-1 1-2"),
    NONE,
  );
  assert.equal(kinds(rows), "added changed same");
});

test("the same number for another value is a change, which the text hides", () => {
  const before = ["%0 = a(%x)", "%1 = b(%x)", "%2 = c(%0)"];
  const after = ["%0 = b(%x)", "%1 = a(%x)", "%2 = c(%0)"];
  const rows = compareTexts(before, after, pairs("1-0 2-2"), NONE);
  assert.equal(before[2], after[2]);
  assert.equal(rows.find((row) => row.before === 1 && row.after === 0)!.kind, "same");
  assert.equal(rows.at(-1)!.kind, "changed");
  assert.deepEqual(marked(rows.at(-1)!.words![0]), ["%0"]);
});

test("parameters are learnt from their head, and the numbering begins anew with each function", () => {
  const names = new Names();
  assert.equal(compareLines("fn (%p01: int) {", "fn (%p0: int) {", names), null);
  assert.equal(compareLines("  f(%p01)", "  f(%p0)", names), null);
  assert.notEqual(compareLines("  f(%p01)", "  f(%p9)", names), null);
  assert.equal(compareLines("def @g(%p01: int) {", "def @g(%p9: int) {", names), null);
});

test("only the words that differ are marked", () => {
  const [before, after] = compareLines("  add(%x, 1f) /* a */", "  add(%x, 2f, 3f) /* a */", new Names())!;
  assert.equal(before.map((piece) => piece.text).join(""), "  add(%x, 1f) /* a */");
  assert.deepEqual(marked(before), ["1f"]);
  assert.deepEqual(marked(after), ["2f, 3f"]);
});

test("a line whose node is on the other side too has moved", () => {
  const rows = compareTexts(["p", "q"], ["q", "p"], [[0, 1]], (_, line) => line >= 0);
  assert.equal(kinds(rows), "moved same moved");
});

test("equal parts fold, but for some lines beside each change", () => {
  const same = Array.from({ length: 20 }, (_, i) => `line ${i}`);
  const rows = compareTexts([...same, "old", ...same, "end"], [...same, "new", ...same, "end"], [], NONE);
  assert.deepEqual(
    folds(rows).map(({ from, to }) => to - from),
    [17, 18],
  );
  assert.deepEqual(folds(compareTexts(same, same, [], NONE)), [{ from: 0, to: 20 }]);
  assert.deepEqual(folds([]), []);
});
