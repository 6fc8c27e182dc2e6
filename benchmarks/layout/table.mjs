// Rows in the shape of benchmarks/bar.py, as JSON lines or as text.
const asJson = process.argv.includes("--json");

/** `more`: peer and peerFigure (theirs), bar in words, met (null without a bar), note. */
export function report(what, ours, unit, { peer = "", peerFigure = null, bar = "", met = null, note = "" } = {}) {
  if (asJson) return console.log(JSON.stringify({ what, ours, unit, peer, peer_figure: peerFigure, bar, met, note }));
  const theirs = peerFigure === null ? note : `${figure(peerFigure)} ${unit} (${peer})`;
  const ratio = peerFigure && ours !== null ? `${(ours / peerFigure).toPrecision(2)}x` : "";
  const verdict = met === null ? "" : met ? "met" : "MISSED";
  console.log([what.padEnd(66), `${figure(ours)} ${unit}`.padEnd(12), theirs.padEnd(44), ratio.padEnd(8), bar.padEnd(14), verdict].join(" ").trimEnd());
}

function figure(value) {
  return value === null ? "-" : String(Number(value.toPrecision(4)));
}
