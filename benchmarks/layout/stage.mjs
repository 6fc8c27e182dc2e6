// The view's stage and what a benchmark needs beside it, bundled from js/ the way the widget's own bundle is.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const js = join(here, "..", "..", "js");
const outfile = join(here, "node_modules", ".cache", "stage.mjs");
const PARTS = {
  "render/stage": "Stage", "render/text": "Ruler", "render/camera": "toScreen",
  "graph/picture": "compare", "graph/payload": "decode", "views/compare": "readDiff",
};

export async function loadStage() {
  const { options } = await import(pathToFileURL(join(js, "build.mjs")).href);
  const { build } = createRequire(join(js, "package.json"))("esbuild");
  const contents = Object.entries(PARTS).map(([part, name]) => `export { ${name} } from "./${part}.ts";`).join("\n");
  const { entryPoints: _, ...rest } = options;
  await build({ ...rest, stdin: { contents, resolveDir: js, loader: "ts" }, outfile, logLevel: "warning" });
  return import(pathToFileURL(outfile).href);
}
