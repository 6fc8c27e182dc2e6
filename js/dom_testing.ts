/** A page for component tests: import this before any component. */
import { GlobalRegistrator } from "@happy-dom/global-registrator";
import { type ToPython } from "./model/messages.ts";
import { type Values } from "./model/model.ts";
import { SavedModel } from "./standalone.ts";

GlobalRegistrator.register({ url: "http://localhost/" });

/** Wait until Preact has drawn what changed. */
export const drawn = () => new Promise((done) => setTimeout(done));

/** A 2D context that draws nothing: happy-dom has none. */
const blank = new Proxy({} as CanvasRenderingContext2D, {
  get: (drawn, name) => Reflect.get(drawn, name) ?? BLANK[String(name)] ?? (() => undefined),
});
const BLANK: Record<string, unknown> = {
  measureText: (text: string) => ({ width: 7 * text.length }),
  getImageData: (_x: number, _y: number, width: number, height: number) => {
    return { data: new Uint8ClampedArray(4 * width * height), width, height };
  },
};
Object.assign(HTMLCanvasElement.prototype, { getContext: () => blank });

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
