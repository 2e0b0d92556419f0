// The page's modules, compiled for Node; and recordings as the records that a page would get.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import zlib from "node:zlib";

export const APP = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../../src/console/app");
export const esbuild = createRequire(path.join(process.env.PACKAGES, "package.json"))("esbuild");

export async function load(name) {
  const out = fs.mkdtempSync(path.join(os.tmpdir(), "spoolwire-reducer-"));
  const file = path.join(out, "module.mjs");
  try {
    await esbuild.build({ entryPoints: [path.join(APP, "src", name)], outfile: file, bundle: true, format: "esm", logLevel: "error" });
    return await import(file);
  } finally {
    fs.rmSync(out, { recursive: true });
  }
}

// All but snapshots of a state, which are no streams.
export const recordings = fs.readdirSync(process.env.RECORDINGS).filter((f) => /\.(ndjson|sse)(\.gz)?$/.test(f) && !f.includes("-state-after-")).sort();

export function records(recording) {
  const bytes = fs.readFileSync(path.join(process.env.RECORDINGS, recording));
  const lines = execFileSync(process.env.SPOOLWIRE, ["translate", "--to", "raw", "--framing", "ndjson"],
    { input: recording.endsWith(".gz") ? zlib.gunzipSync(bytes) : bytes, maxBuffer: 1 << 30 });
  return lines.toString().split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}
