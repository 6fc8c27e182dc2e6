/** Beneath the pass list: passes of the catalogue that can be added, or keys of PassContext's config. */
import { Field } from "../components/field.tsx";
import { roving } from "../components/roving.ts";
import { type Catalog, type FieldSpec, type PassChoice, type State } from "../model/messages.ts";
import { type Send } from "../model/model.ts";
import { firstSentence, Lock } from "./pass_words.tsx";

interface FoundProps {
  catalog: Catalog;
  /** The search, in lower case; "" lists everything. */
  wanted: string;
  /** Where an added pass goes, in words. */
  place: string;
  add: (name: string) => void;
}

/** The passes that can be added. */
export function FoundPasses({ catalog, wanted, place, add }: FoundProps) {
  const has = (text: string) => text.toLowerCase().includes(wanted);
  const found = (catalog.passes ?? []).filter(({ name, doc }) => has(name) || (wanted.length > 2 && has(doc)));
  if (found.length === 0) return null;
  return (
    <ul ref={roving} class="wb-passes wb-catalog" data-testid="catalog" aria-label="Catalogue">
      <li class="wb-dim wb-found">Add {place}:</li>
      {found.map((pass) => (
        <FoundPass key={pass.name} pass={pass} place={place} add={add} />
      ))}
    </ul>
  );
}

interface FoundPassProps {
  pass: PassChoice;
  place: string;
  add: (name: string) => void;
}

function FoundPass({ pass: { name, doc, reason, locked, ours, opt_level }, place, add }: FoundPassProps) {
  return (
    <li class="wb-found">
      <button
        type="button"
        class="wb-link"
        disabled={reason !== ""}
        data-testid={`add-${name}`}
        title={reason || `Add ${name} ${place}`}
        onClick={() => add(name)}
      >
        + {name}
      </button>
      <span class="wb-dim">
        {ours ? " ours" : ""}
        {opt_level ? ` ≥ ${opt_level}` : ""}
        {locked && <Lock reason={locked} />}
      </span>
      <div class="wb-dim" title={doc}>
        {reason ? `Not by name: ${reason}` : firstSentence(doc)}
      </div>
    </li>
  );
}

interface KeysProps {
  settings: readonly FieldSpec[];
  state: State;
  /** The search, in lower case; null lists only the keys that have a value. */
  wanted: string | null;
  send: Send;
}

/** The config keys that have a value, and those that are looked for. */
export function ConfigKeys({ settings, state, wanted, send }: KeysProps) {
  const given = state.context?.options ?? {};
  const refused = state.refused?.form === "setting" ? state.refused : null;
  const shown = settings.filter(
    ({ name }) => name in given || name === refused?.field || (wanted !== null && name.toLowerCase().includes(wanted)),
  );
  return (
    <ul class="wb-passes wb-catalog" data-testid="catalog" aria-label="Catalogue">
      <li class="wb-dim wb-found">
        {shown.length > 0 ? "PassContext config" : "Config keys: press + or type a part of the name."}
      </li>
      {shown.map((spec) => (
        <li key={spec.name} class="wb-found">
          <Field
            spec={spec}
            testid={`setting-${spec.name}`}
            value={given[spec.name]}
            refused={refused?.field === spec.name ? refused.text : ""}
            commit={(text) => send({ type: "setting", name: spec.name, text })}
          />
        </li>
      ))}
    </ul>
  );
}
