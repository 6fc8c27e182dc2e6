// Builds the one file the Python package ships: workbench/widgets/static/workbench.js.
// The layout worker travels inside it as text, because a notebook page has no second URL to load it from.
import { mkdir, readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = "es2022";

const packed = (contents) => gzipSync(contents, { level: 9 }).toString("base64");

/** `import packed from "./worker.ts?worker"` gives the bundled worker as text packed with gzip and base64: a third of its size. */
export const workerAsText = {
  name: "worker-as-text",
  setup(build) {
    build.onResolve({ filter: /\?worker$/ }, (args) => ({
      path: resolve(args.resolveDir, args.path.replace(/\?worker$/, "")),
      namespace: "worker-text",
    }));
    build.onLoad({ filter: /.*/, namespace: "worker-text" }, async (args) => {
      const out = await esbuild.build({
        entryPoints: [args.path],
        bundle: true,
        write: false,
        minify: true,
        format: "iife",
        target,
        metafile: true,
        logLevel: "silent",
      });
      return {
        contents: packed(out.outputFiles[0].contents),
        loader: "text",
        watchFiles: Object.keys(out.metafile.inputs).map((file) => resolve(file)),
      };
    });
  },
};

/** `import packed from "./style.css"` gives the style sheet, minified and packed like the worker. */
const styleAsText = {
  name: "style-as-text",
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async (args) => {
      const { code } = await esbuild.transform(await readFile(args.path, "utf8"), { loader: "css", minify: true, target });
      return { contents: packed(code), loader: "text", watchFiles: [args.path] };
    });
  },
};

export const options = {
  entryPoints: [join(here, "index.ts")],
  bundle: true,
  minify: true,
  format: "esm",
  target,
  charset: "utf8",
  legalComments: "none",
  plugins: [styleAsText, workerAsText],
};

async function main() {
  const outfile = join(here, "..", "workbench", "widgets", "static", "workbench.js");
  await mkdir(dirname(outfile), { recursive: true });
  if (process.argv.includes("--watch")) {
    const context = await esbuild.context({ ...options, outfile, logLevel: "info" });
    await context.watch();
    return;
  }
  await esbuild.build({ ...options, outfile, logLevel: "warning" });
  const { size } = await stat(outfile);
  console.log(`workbench/widgets/static/workbench.js  ${size.toLocaleString("en")} bytes`);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await main();
