/** The time of a measured row: the median with a bar, the quartiles as a whisker. */
import { type RowState } from "../model/messages.ts";
import { counted, formatTime } from "../text/counted.ts";

export function RowTime({ row, slowest }: { row: RowState; slowest: number }) {
  const { median_us: median } = row;
  if (typeof median !== "number") return <>{row.message || "not measured"}</>;
  const percent = (us: number) => `${Math.max(0, Math.min(100, (us / slowest) * 100))}%`;
  const [low, high] = [row.q1_us ?? median, row.q3_us ?? median];
  return (
    <>
      <span class="wb-time">{formatTime(median)}</span>
      <span class="wb-bar-track" title={`Middle half: ${formatTime(low)} to ${formatTime(high)}`}>
        <span class="wb-bar-fill" style={`width: ${percent(median)}`} />
        <span class="wb-whisker" style={`left: ${percent(low)}; width: calc(${percent(high)} - ${percent(low)})`} />
      </span>
    </>
  );
}

export function rowDetail(row: RowState): string {
  const { median_us: median, q1_us: low, q3_us: high, samples, target } = row;
  const facts = [
    row.whole && row.whole !== row.config ? row.whole : "",
    typeof median === "number" ? `median ${formatTime(median)}` : "",
    typeof low === "number" && typeof high === "number" ? `middle half ${formatTime(low)} to ${formatTime(high)}` : "",
    samples ? `${counted(samples, "sample")} after warm-up` : "",
    target ? `target ${target}` : "",
    row.message,
  ];
  return facts.filter(Boolean).join(" · ");
}
