import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";

import { APP } from "./app.mjs";

test("the bundle in the tree is what its source gives", () => {
  const out = fs.mkdtempSync(path.join(os.tmpdir(), "spoolwire-bundle-"));
  try {
    execFileSync(process.execPath, [path.join(APP, "build.mjs"), process.env.PACKAGES, out]);
    for (const name of ["app.js", "app.css"]) {
      assert.ok(fs.readFileSync(path.join(out, name)).equals(fs.readFileSync(path.join(APP, "..", name))), `${name} is stale: make console`);
    }
  } finally {
    fs.rmSync(out, { recursive: true });
  }
});

test("its types fit", () => {
  const tsc = path.join(process.env.PACKAGES, "node_modules/typescript/bin/tsc");
  const done = spawnSync(process.execPath, [tsc, "-p", APP], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stdout);
});

test("the bundle makes no markup of text and no code of text", () => {
  const text = fs.readFileSync(path.join(APP, "..", "app.js"), "utf8");
  for (const word of ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"]) assert.ok(!text.includes(word), word);
});
