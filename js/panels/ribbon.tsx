/** The history of the selected node under the graph: a stop for each form it had, and between two the pass that changed it. */
import { Fragment } from "preact";
import { roving } from "../components/roving.ts";
import { opName } from "../graph/labels.ts";
import { type Place, type StepState } from "../model/messages.ts";
import { oneLine } from "../render/text.ts";
import { counted } from "../text/counted.ts";

/** The certainties of a link, and their meaning. */
const SURE: Readonly<Record<string, string>> = {
  exact: "the same operator, attributes, type and inputs",
  structural: "paired by the difference of the graphs, though an attribute, the type or an input changed",
  span: "they name the same place of the source program",
  place: "the one is in the place of the other",
};

interface Stop {
  place: Place;
  /** The pass before it made it from the stop before it, or from nothing. */
  link: { from: boolean; quiet: number } | null;
  /** It is on the screen. */
  here: boolean;
}

interface Props {
  places: readonly Place[];
  steps: readonly StepState[];
  /** The states on the screen. */
  shown: readonly number[];
  onPick: (place: Place) => void;
}

export function Ribbon({ places, steps, shown, onPick }: Props) {
  const { stops, quiet } = stopsOf(places, shown);
  return (
    <section
      ref={roving}
      class="wb-ribbon"
      aria-label="History of the selected node"
      data-testid="ribbon"
      hidden={stops.length === 0}
    >
      <span class="wb-dim wb-ribbon-name">History</span>
      {stops.map(({ place, link, here }, i) => (
        <Fragment key={i}>
          {link && <Link place={place} name={steps[place.step]?.name ?? ""} {...link} />}
          <StopButton place={place} here={here} onPick={onPick} />
        </Fragment>
      ))}
      {quiet > 0 && <span class="wb-dim wb-ribbon-quiet">{counted(quiet, "pass")}</span>}
      <End place={places.at(-1)} />
    </section>
  );
}

function StopButton({ place, here, onPick }: { place: Place; here: boolean; onPick: (place: Place) => void }) {
  if (place.ids.length === 0) return <span class="wb-ribbon-gone wb-mark-removed">gone</span>;
  const ops = place.ops.map((op) => opName(oneLine(op, 40)) || "(no name)");
  const many = place.ids.length > ops.length ? ` × ${place.ids.length}` : "";
  return (
    <button
      type="button"
      class={`wb-ribbon-stop${here ? " wb-current" : ""}`}
      data-testid={`ribbon-${place.state}`}
      aria-current={here ? "true" : "false"}
      title={`Go there with ${ops.join(", ")} selected`}
      onClick={() => onPick(place)}
    >
      {`${ops.slice(0, 3).join(", ")}${ops.length > 3 ? " …" : ""}${many}`}
      {place.kernels.length > 0 && (
        <span
          class="wb-ribbon-kernel"
          title={`in kernel ${place.kernels.map((name) => oneLine(name, 200)).join(", ")}`}
        >
          {oneLine(place.kernels.join(", "), 34)}
        </span>
      )}
    </button>
  );
}

function Link({ place, name, from, quiet }: { place: Place; name: string; from: boolean; quiet: number }) {
  const sure = place.sure || (from ? "exact" : "made here");
  const before = quiet > 0 ? `\n${counted(quiet, "pass")} before it left it as it was` : "";
  return (
    <span
      class={`wb-ribbon-link wb-sure-${sure in SURE ? sure : "place"}`}
      title={`${name}: ${[sure, SURE[sure]].filter(Boolean).join(", ")}${before}`}
    >
      <span class="wb-ribbon-pass">{oneLine(name, 40)}</span>
      <span class="wb-ribbon-sure">{place.ids.length === 0 ? "" : sure}</span>
    </span>
  );
}

function End({ place }: { place: Place | undefined }) {
  if (place?.ids.length === 0) return <span class="wb-dim">nothing of it is left at the end</span>;
  const kernels = place?.kernels ?? [];
  if (kernels.length === 0) return null;
  const names = kernels.map((name) => oneLine(name, 60)).join(", ");
  return <span class="wb-dim">{`ends in ${kernels.length === 1 ? "kernel" : "kernels"} ${names}`}</span>;
}

/** One stop for each run of states that left the node as it was, and the number of such states after the last change. */
function stopsOf(places: readonly Place[], shown: readonly number[]): { stops: Stop[]; quiet: number } {
  const stops: Stop[] = [];
  let quiet = 0;
  let last: Place | undefined;
  for (const place of places) {
    const here = shown.includes(place.state);
    const stop = stops.at(-1);
    if (last && untouched(last, place)) {
      quiet++;
      if (stop) stop.here ||= here;
    } else if (place.ids.length > 0 || (last && last.ids.length > 0)) {
      stops.push({ place, link: last ? { from: last.ids.length > 0, quiet } : null, here });
      quiet = 0;
    }
    last = place;
  }
  return { stops, quiet };
}

/** Nothing about the node changed from one state to the next. */
function untouched(before: Place, after: Place): boolean {
  const sure = after.sure === "exact" || (after.ids.length === 0 && before.ids.length === 0);
  return (
    sure &&
    before.ids.length === after.ids.length &&
    before.kernels.join() === after.kernels.join() &&
    before.ops.join() === after.ops.join()
  );
}
