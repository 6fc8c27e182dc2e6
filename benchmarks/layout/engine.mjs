// Our engine and the graphs it is tested on, bundled from js/layout the way the widget's own bundle is.
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const js = join(here, "..", "..", "js");
const outfile = join(here, "node_modules", ".cache", "engine.mjs");

export async function buildEngine() {
  const { buildSync } = createRequire(join(js, "package.json"))("esbuild");
  mkdirSync(dirname(outfile), { recursive: true });
  const parts = ["compound", "testing/generators", "testing/edits", "testing/laws"];
  buildSync({
    stdin: { contents: parts.map((part) => `export * from "./${part}";`).join("\n"), resolveDir: join(js, "layout"), loader: "ts" },
    bundle: true, format: "esm", target: "es2022", minify: true, outfile, logLevel: "warning",
  });
}

export function loadEngine() {
  return import(pathToFileURL(outfile).href);
}
