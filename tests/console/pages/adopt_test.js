// Each line of Adopt does what it says, pasted as it is.

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";

import { until } from "../../lib/server.js";
import { Stage } from "../../lib/stage.js";
import { open } from "./browser.js";
import { browser, light, onPage, server, setUp, state } from "./suite.js";

const { SPOOLWIRE, CLIENTS } = process.env;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "spoolwire-adopt-"));
const run = promisify(execFile);

// A project with the SDK, as npm would have made it.
fs.mkdirSync(path.join(folder, "node_modules/@langchain"), { recursive: true });
fs.symlinkSync(path.join(CLIENTS, "node_modules/sdk-1.12.0"), path.join(folder, "node_modules/@langchain/langgraph-sdk"));
after(() => fs.rmSync(folder, { recursive: true }));

setUp(async () => {
  await server.submit("demo", { speed: 50 }, "done");
  await server.untilState("done", "succeeded");
});

// In the run's page; @token is in the environment of whoever pastes.
async function pasteAll(page, token = "") {
  const env = { ...process.env, PATH: `${path.dirname(SPOOLWIRE)}:${process.env.PATH}`, SPOOLWIRE_TOKEN: token };
  const said = async (program, ...args) => (await run(program, args, { cwd: folder, env, maxBuffer: 1 << 26 })).stdout;
  const text = (name) => page.getByRole("tabpanel").getByRole("region", { name, exact: true }).locator("pre").textContent();

  await state(page, "Succeeded");
  await page.getByRole("tab", { name: "Adopt" }).click();
  const events = await said("sh", "-c", await text("curl"));
  assert.match(events, /^event: job\.done$/m);
  const tokens = [...events.matchAll(/^event: agent\.token\ndata: (.*)$/gm)].map((m) => JSON.parse(m[1]).token);
  assert.ok(tokens.length > 100);

  assert.match(await said("sh", "-c", await text("Command line")), /"type":"job\.done"/);

  const heard = [];
  page.on("console", (message) => heard.push(message.text()));
  await page.evaluate(await text("EventSource"));
  await until("all tokens have come", () => heard.length >= tokens.length);
  assert.deepEqual(heard, tokens);

  fs.writeFileSync(path.join(folder, "pasted.mjs"), await text("LangGraph SDK"));
  const parts = await said(process.execPath, "pasted.mjs");
  assert.match(parts, /^metadata /m);
  assert.ok(parts.match(/^messages \[/gm).length > 100);

  assert.match(await said("python3", "-c", await text("Python")), /^job\.done /m);

  const made = JSON.parse(await said("sh", "-c", `${await text("New run")} -s`));
  assert.equal(made.agent, "demo");
}

test("curl, the command line, EventSource, the SDK and Python read the run as pasted", async () => {
  await onPage("/runs/done", {}, (page) => pasteAll(page));
});

test("they do so with a token from the environment, where one is needed", async (t) => {
  const locked = await new Stage(["--auth", "required"]).start();
  t.after(() => locked.close());
  const token = execFileSync(SPOOLWIRE, ["token", "create", "--scope", "admin", "--name", "me", "--data", locked.data], { encoding: "utf8" }).trim();
  const authorized = { Authorization: `Bearer ${token}` };
  await locked.ask("POST", "/v1/jobs", { agent: "demo", input: { speed: 50 }, job_id: "done" }, authorized);
  const { page } = await open(browser, `${locked.url}/#/runs/done`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Open" }).click();
  await light(page, "Live");
  await pasteAll(page, token);
  await page.context().close();
});
