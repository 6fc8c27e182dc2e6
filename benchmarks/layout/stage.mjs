// Bundles stage_parts.ts the way the widget's own bundle is made.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const js = join(here, "..", "..", "js");
const outfile = join(here, "node_modules", ".cache", "stage.mjs");

export async function loadStage() {
  const { options } = await import(pathToFileURL(join(js, "build.mjs")).href);
  const { build } = createRequire(join(js, "package.json"))("esbuild");
  await build({ ...options, entryPoints: [join(here, "stage_parts.ts")], outfile, logLevel: "warning" });
  return import(pathToFileURL(outfile).href);
}
