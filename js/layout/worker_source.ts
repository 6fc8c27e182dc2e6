/** The worker's program comes from a Blob URL, because a notebook page has no second URL to load it from. */
import { type LayoutEngine } from "./compound.ts";
import source from "./worker.ts?worker";

let workerUrl = "";

/** One URL for all workers, kept: some browsers read the blob only after the constructor has returned. */
export function openWorker(): Worker {
  workerUrl ||= URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  return new Worker(workerUrl, { name: "tvm-workbench layout" });
}

/** The same program as a module: the bundle has one copy of the engine. */
export async function engineHere(): Promise<LayoutEngine> {
  const text = `${source}\nexport default layout.LayoutEngine;`;
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const { default: Engine } = await load(url, text);
  return new Engine();
}

async function load(url: string, text: string): Promise<{ default: new () => LayoutEngine }> {
  try {
    return await import(url);
  } catch (error) {
    // Node imports data URLs only.
    if ((error as { code?: string }).code === "ERR_UNSUPPORTED_ESM_URL_SCHEME")
      return import(`data:text/javascript,${encodeURIComponent(text)}`);
    throw new Error("this page allows neither workers nor modules from a Blob URL");
  }
}
