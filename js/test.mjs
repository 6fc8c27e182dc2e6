// Bundles every *.test.ts and *.test.tsx and hands them to Node's own test runner: the same on Node 20 and later, no test framework.

import { spawnSync } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { options } from "./build.mjs";

const here = dirname(fileURLToPath(import.meta.url));
// A folder for each run: two runs at once must not delete each other's files.
const out = join(here, ".test", String(process.pid));
const wanted = process.argv.slice(2);

const entries = (await readdir(here, { recursive: true }))
  .filter((file) => /\.test\.tsx?$/.test(file) && !file.startsWith("node_modules") && !file.startsWith(".test"))
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .map((file) => join(here, file));
if (entries.length === 0) {
  console.error("no test file matches", wanted.join(" "));
  process.exit(1);
}

await rm(out, { recursive: true, force: true });
await esbuild.build({
  ...options,
  entryPoints: entries,
  outdir: out,
  outbase: here,
  outExtension: { ".js": ".mjs" },
  minify: false,
  platform: "node",
  external: ["@happy-dom/global-registrator"],
  sourcemap: "inline",
  logLevel: "warning",
});
const files = entries.map((file) => join(out, relative(here, file).replace(/\.tsx?$/, ".mjs")));
const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-reporter=spec", ...files], {
  stdio: "inherit",
  cwd: here,
});
await rm(out, { recursive: true, force: true });
process.exit(status ?? 1);
