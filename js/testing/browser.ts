/** The objects of a browser, before any component is loaded: `dom_testing.ts` imports this first. */
import { GlobalRegistrator } from "@happy-dom/global-registrator";

GlobalRegistrator.register({ url: "http://localhost/" });

const BLANK: Record<string, unknown> = {
  measureText: (text: string) => ({ width: 7 * text.length }),
  getImageData: (_x: number, _y: number, width: number, height: number) => {
    return { data: new Uint8ClampedArray(4 * width * height), width, height };
  },
};
/** A 2D context that draws nothing: happy-dom has none. */
const blank = new Proxy({} as CanvasRenderingContext2D, {
  get: (drawn, name) => Reflect.get(drawn, name) ?? BLANK[String(name)] ?? (() => undefined),
});
Object.assign(HTMLCanvasElement.prototype, { getContext: () => blank, setPointerCapture: () => undefined });
// Nothing is painted, and nothing glides.
const still = () => ({ matches: true, addEventListener() {}, removeEventListener() {} });
Object.assign(globalThis, { requestAnimationFrame: () => 1, cancelAnimationFrame: () => undefined, matchMedia: still });
