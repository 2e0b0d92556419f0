// Makes app.js and app.css, which are part of the program, from src/.
//
//     node build.mjs PACKAGES [OUT]
//
// PACKAGES has esbuild (scripts/packages src/console/app); OUT is the folder above this one
// unless given.

import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const [packages, out = path.join(here, "..")] = process.argv.slice(2);
const { build } = createRequire(path.join(path.resolve(packages), "package.json"))("esbuild");

await build({
  absWorkingDir: here,
  entryPoints: [{ in: "src/main.ts", out: "app" }, { in: "src/app.css", out: "app" }],
  outdir: path.resolve(out),
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  legalComments: "none",
  logLevel: "warning",
});
