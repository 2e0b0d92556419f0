// The page of webhooks: the real server, and a receiver that fails and then works.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, test } from "node:test";

import { until } from "../../lib/server.js";
import { Stage } from "../../lib/stage.js";
import { open, require } from "./browser.js";
import { browser, onPage, server, setUp } from "./suite.js";

const GONE = "/gone?x=&lt;b&gt;y";
const got = [];
let isMended = false;

// A receiver that has no /gone and is too busy for /busy, until it is mended.
const receiver = http.createServer((req, res) => {
  got.push(req.url);
  req.resume();
  res.writeHead(isMended || req.url === "/ok" ? 200 : req.url.startsWith("/gone") ? 410 : 503).end();
});
receiver.listen(0, "127.0.0.1");
await once(receiver, "listening");
const place = `http://127.0.0.1:${receiver.address().port}`;
after(() => receiver.close());

const runs = {};

async function run(where, thread) {
  const body = { assistant_id: "pull", input: {}, webhook: place + where, if_not_exists: "create" };
  const { run_id } = await server.ask("POST", `/threads/${thread}/runs`, body);
  await (await server.lease()).finish();
  return run_id;
}

async function isIn(id, state) {
  await until(`the webhook of ${id} is ${state}`, async () => {
    const w = await server.get(`/v1/webhooks/${id}`);
    return w.state === state && w.attempts === 1 && (state === "sent" || w.reason !== null);
  });
}

setUp(async () => {
  runs.sent = await run("/ok", "one");
  runs.pending = await run("/busy", "two");
  runs.dead = await run(GONE, "three");
  for (const state of ["sent", "pending", "dead"]) await isIn(runs[state], state);
}, ["--webhook-allow", "*", "--webhook-private", "127.0.0.1", "--webhook-retry", "50m"]);

const row = (page, id) => page.locator("tbody tr", { has: page.getByRole("link", { name: id, exact: true }) });

async function cells(page, id) {
  await row(page, id).waitFor();
  return row(page, id).getByRole("cell").allTextContents();
}

test("each webhook has its state, run, thread, URL, attempts, last error and next try", async () => {
  await onPage("/webhooks", {}, async (page) => {
    const [state, about, url, attempts, error, next] = await cells(page, runs.pending);
    assert.deepEqual([state, about, url, attempts, error], ["Pending", `${runs.pending}thread two`, `${place}/busy`, "1", "it was answered with 503"]);
    assert.match(next, /^in (49|50) min /);
    const dead = await cells(page, runs.dead);
    assert.deepEqual(dead.slice(0, 5), ["Dead", `${runs.dead}thread three`, place + GONE, "1", "it was answered with 410"]);
    assert.match(dead[5], /^tried (now|\d+ s ago)$/);
    const sent = await cells(page, runs.sent);
    assert.deepEqual(sent.slice(0, 5), ["Sent", `${runs.sent}thread one`, `${place}/ok`, "1", ""]);
    const ids = await page.locator("tbody tr a").allTextContents();
    assert.deepEqual(ids, [runs.dead, runs.pending, runs.sent]); // the last end first
    assert.equal(await page.getByRole("button", { name: /^Resend/ }).count(), 1);
  });
});

test("texts from outside stay texts", async () => {
  const evil = "<img src=x onerror=alert(1)>\u202etxt";
  await onPage("/", {}, async (page) => {
    await page.route("**/v1/webhooks?*", async (route) => {
      const response = await route.fetch();
      const answer = await response.json();
      for (const w of answer.webhooks) Object.assign(w, { thread_id: evil, url: evil, reason: evil });
      await route.fulfill({ response, json: answer });
    });
    await page.evaluate(() => (location.hash = "/webhooks"));
    const [, about, url, , error] = await cells(page, runs.dead);
    const shown = "<img src=x onerror=alert(1)>\u2039202E\u203atxt";
    assert.deepEqual([about, url, error], [`${runs.dead}thread ${shown}`, shown, shown]);
    assert.equal(await page.locator("main img").count(), 0);
  });
});

test("they are filtered by their state, and a run is a click away", async () => {
  await onPage("/webhooks", {}, async (page) => {
    for (const state of ["Pending", "Sent", "Dead"]) {
      await page.getByRole("button", { name: state, exact: true }).click();
      await until(`only ${state}`, async () => (await page.locator("tbody tr").allTextContents()).length === 1 && (await row(page, runs[state.toLowerCase()]).count()) === 1);
    }
    await page.getByRole("link", { name: runs.dead }).click();
    await page.locator(".run-head-box .pill", { hasText: "Succeeded" }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("h");
    await page.locator("h1", { hasText: "Webhooks" }).waitFor();
  });
});

test("axe finds nothing serious, and it fits at any width, light and dark", async () => {
  const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
  fs.mkdirSync(process.env.SCREENSHOTS, { recursive: true });
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [320, 1280]) {
      await onPage("/webhooks", { colorScheme, bypassCSP: true, viewport: { width, height: 700 } }, async (page) => {
        await row(page, runs.dead).waitFor();
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}`);
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        assert.deepEqual(violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => v.id), []);
        await page.screenshot({ path: path.join(process.env.SCREENSHOTS, `webhooks-${width}-${colorScheme}.png`) });
      });
    }
  }
});

test("a dead one is sent again by its button, and shown as it goes", async () => {
  await onPage("/webhooks", {}, async (page) => {
    const before = got.length;
    await page.getByRole("button", { name: `Resend ${runs.dead}` }).click();
    await until("it was tried", () => got.length > before);
    await until("it is dead again", async () => (await server.get(`/v1/webhooks/${runs.dead}`)).state === "dead");
    isMended = true;
    await page.getByRole("button", { name: `Resend ${runs.dead}` }).click();
    await row(page, runs.dead).locator(".pill", { hasText: "Sent" }).waitFor();
    assert.equal((await cells(page, runs.dead))[4], "");
    assert.deepEqual(got.slice(before), [GONE, GONE]);
    assert.equal(await page.getByRole("button", { name: /^Resend/ }).count(), 0);
  });
});

test("a page has fifty, and older ones are asked for", async () => {
  for (let i = 0; i < 50; i++) await run("/ok", `more-${i}`);
  await onPage("/webhooks", {}, async (page) => {
    await until("fifty are shown", async () => (await page.locator("tbody tr").count()) === 50);
    assert.equal(await row(page, runs.dead).count(), 0);
    await page.getByRole("button", { name: "Older ones" }).click();
    await until("all are shown", async () => (await page.locator("tbody tr").count()) === 53);
    assert.equal(await page.getByRole("button", { name: "Older ones" }).count(), 0);
  });
});

test("without the scope admin the page says what it needs", async (t) => {
  const locked = await new Stage(["--auth", "required"]).start();
  t.after(() => locked.close());
  const token = execFileSync(process.env.SPOOLWIRE, ["token", "create", "--scope", "read", "--name", "me", "--data", locked.data], { encoding: "utf8" }).trim();
  const { page } = await open(browser, `${locked.url}/`, { isCut: true });
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("link", { name: "Webhooks" }).click();
  await page.getByRole("alert").getByText("Webhooks need a token with the scope admin.").waitFor();
  await page.context().close(); // refusals are in its console, as they should be
});
