// Builds what the Python package ships: workbench/widgets/static/workbench.js for browsers, and pictures.mjs for Node;
// and for the browser tests and the benchmarks js/.test/probed.js.
// The layout worker and the style sheet are in them as text, because a notebook page has no second URL to load them from.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = "es2022";

/** The package's version, for reports of errors. */
const [, version] = /__version__ = "(.*?)"/.exec(await readFile(join(here, "..", "workbench", "__init__.py"), "utf8"));

/** `import source from "./worker.ts?worker"` gives the bundled worker as text. */
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
        globalName: "layout",
        target,
        metafile: true,
        logLevel: "silent",
      });
      return {
        contents: out.outputFiles[0].text,
        loader: "text",
        watchFiles: Object.keys(out.metafile.inputs).map((file) => resolve(file)),
      };
    });
  },
};

/** `import css from "./style.css"` gives the minified style sheet. */
const styleAsText = {
  name: "style-as-text",
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async (args) => {
      const { code } = await esbuild.transform(await readFile(args.path, "utf8"), {
        loader: "css",
        minify: true,
        target,
      });
      return { contents: code, loader: "text", watchFiles: [args.path] };
    });
  },
};

export const options = {
  bundle: true,
  minify: true,
  format: "esm",
  target,
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  define: { WORKBENCH_VERSION: JSON.stringify(version) },
  plugins: [styleAsText, workerAsText],
};

const shipped = join(here, "..", "workbench", "widgets", "static");
const bundles = [
  { entryPoints: [join(here, "index.ts")], outfile: join(shipped, "workbench.js") },
  { entryPoints: [join(here, "pictures.ts")], outfile: join(shipped, "pictures.mjs"), platform: "node" },
  { entryPoints: [join(here, "testing", "probed.ts")], outfile: join(here, ".test", "probed.js") },
];

async function watch(bundle) {
  const context = await esbuild.context({ ...options, ...bundle, logLevel: "info" });
  await context.watch();
}

async function build({ outfile, ...bundle }) {
  await esbuild.build({ ...options, ...bundle, outfile, logLevel: "warning" });
  // Minified again, it is shorter: only now are the names and the helpers that nothing uses any more known.
  const { minify, target, charset, legalComments } = options;
  const { code: text } = await esbuild.transform(await readFile(outfile), { minify, target, charset, legalComments });
  await writeFile(outfile, text);
  const [size, sent] = [Buffer.byteLength(text), gzipSync(text, { level: 9 }).length].map((bytes) =>
    bytes.toLocaleString("en"),
  );
  console.log(`${relative(dirname(here), outfile)}  ${size} bytes, ${sent} with gzip`);
}

async function main() {
  await mkdir(shipped, { recursive: true });
  await Promise.all(bundles.map(process.argv.includes("--watch") ? watch : build));
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await main();
