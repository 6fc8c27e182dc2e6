import assert from "node:assert/strict";
import test from "node:test";
import { escaped, SvgPen } from "./pen.ts";

test("hostile text becomes text", () => {
  assert.equal(escaped(`<script>alert("1")</script>&'`), "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;");
  assert.equal(escaped("a\u0000\u001b\ud800b\ufffe"), "ab");
  const pen = new SvgPen();
  pen.font = '600 12px "x" onload="y"';
  pen.fillText("</text><script>", 0, 0);
  const svg = pen.take();
  assert.ok(!svg.includes("<script"));
  assert.ok(!svg.includes('onload="'));
});

test("paths, dashes, opacity, and what is saved comes back", () => {
  const pen = new SvgPen();
  pen.save();
  pen.globalAlpha = 0.5;
  pen.setLineDash([2, 3]);
  pen.beginPath();
  pen.moveTo(0, 0.123456);
  pen.lineTo(NaN, 2);
  pen.stroke();
  pen.restore();
  pen.fillRect(0, 0, 1, 1);
  const [path, rect] = pen.take().split("\n");
  assert.match(path, /d="M0 0.12L0 2".*stroke-dasharray="2 3".*opacity="0.5"/);
  assert.ok(!rect.includes("opacity"));
});
