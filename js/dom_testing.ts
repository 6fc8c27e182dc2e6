/** A page for component tests, empty before each: import this before any component. */
import "./testing/browser.ts";
import assert from "node:assert/strict";
import { beforeEach } from "node:test";
import { type ComponentChild } from "preact";
import { mount } from "./components/mount.tsx";
import { type ToPython } from "./model/messages.ts";
import { type Values } from "./model/model.ts";
import { Stage } from "./render/stage.ts";
import { Ruler } from "./render/text.ts";
import { SavedModel } from "./standalone.ts";

/** The messages to Python of the components of a test. */
export const sent: ToPython[] = [];
export const send = (message: ToPython) => void sent.push(message);

beforeEach(() => {
  mount(null, document.body);
  document.body.replaceChildren();
  localStorage.clear();
  sent.length = 0;
});

/** Wait until Preact has drawn what changed. */
export const drawn = () => new Promise((done) => setTimeout(done));

/** Draw components, in place of those before. */
export async function draw(content: ComponentChild, place: Element = document.body): Promise<void> {
  mount(content, place);
  await drawn();
}

/** The elements that a selector finds. */
export function all<E extends HTMLElement = HTMLElement>(css: string, within: Element = document.body): E[] {
  return [...within.querySelectorAll<E>(css)];
}

export const texts = (css: string, within?: Element) => all(css, within).map((each) => each.textContent);

/** The first element that a selector finds. */
export function one<E extends HTMLElement = HTMLElement>(css: string, within?: Element): E {
  const [found] = all<E>(css, within);
  assert.ok(found, css);
  return found;
}

/** The element that tests know by a name. */
export function part<E extends HTMLElement = HTMLElement>(name: string, within?: Element): E {
  const found = all<E>("*", within).find((each) => each.dataset.testid === name);
  assert.ok(found, name);
  return found;
}

export const focused = () => document.activeElement?.getAttribute("data-testid");

/** A button beside all components, with the focus. */
export function focusOutside(): HTMLElement {
  const outside = document.body.appendChild(document.createElement("button"));
  outside.focus();
  return outside;
}

export async function click(name: string): Promise<void> {
  part(name).click();
  await drawn();
}

/** Press a key where the focus is, or on an element; whether something had a use for it. */
export async function press(key: string, more: KeyboardEventInit = {}, on = document.activeElement): Promise<boolean> {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  on?.dispatchEvent(event);
  await drawn();
  return event.defaultPrevented;
}

/** Type into a field, or with "change" leave it with that text. */
export async function enter(name: string, text: string, event: "input" | "change" = "input"): Promise<void> {
  const field = part<HTMLInputElement>(name);
  field.value = text;
  field.dispatchEvent(new Event(event, { bubbles: true }));
  await drawn();
}

/** A stage whose letters are all half as wide as they are high. */
export const halfStage = () => new Stage(new Ruler(() => 0.5));

/** A widget's model that keeps the messages for Python. */
export class TestModel extends SavedModel {
  readonly sent: ToPython[] = [];

  /** Set traits as one message of Python does. */
  put(values: Values): void {
    for (const name of Object.keys(values) as (keyof Values)[]) this.set(name, values[name]);
  }

  override send(...messages: ToPython[]): void {
    this.sent.push(...messages);
  }
}
