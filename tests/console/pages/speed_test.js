// Long runs and long lists stay smooth: counts the browser's long tasks.

import assert from "node:assert/strict";
import { test } from "node:test";

import { until } from "../../lib/server.js";
import { graph } from "../../lib/stage.js";
import { open } from "./browser.js";
import { browser, light, server, setUp, state } from "./suite.js";

const LONG_MS = 100; // a page that is held up for so long is felt

setUp(undefined, ["--durability", "relaxed"]);

// Of the page's own thread, as Chromium's trace has them: the time in which they had the processor,
// so that it does not matter what else the machine does.
function longTasks(trace) {
  const { traceEvents } = JSON.parse(trace);
  const mains = traceEvents.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => `${e.pid}/${e.tid}`);
  const tasks = traceEvents.filter((e) => e.ph === "X" && /RunTask/.test(e.name) && mains.includes(`${e.pid}/${e.tid}`));
  assert.ok(tasks.length > 100, `${tasks.length} tasks`);
  return tasks.map((e) => Math.round(e.tdur / 1000)).filter((ms) => ms > LONG_MS);
}

async function measured(hash, body) {
  const tab = await open(browser, `${server.url}/#/agents`);
  const { page } = tab;
  await light(page, "Live");
  await browser.startTracing(page, { categories: ["toplevel", "disabled-by-default-devtools.timeline"] });
  await page.evaluate((h) => (location.hash = h), hash);
  const trace = await body(page).then(() => browser.stopTracing(), async (error) => {
    await browser.stopTracing();
    throw error;
  });
  await tab.close();
  return longTasks(trace);
}

test("20000 tokens in 50 cards: all shown, and nothing holds up the page", async () => {
  await server.submit("pull", {}, "long");
  const lease = await server.lease();
  await lease.send(graph.start());
  const long = await measured("#/runs/long", async (page) => {
    await page.locator("h1", { hasText: "long" }).waitFor();
    for (let card = 0; card < 50; card++) {
      const [node, run, model] = [`node${card}`, `n${card}`, `m${card}`];
      await lease.send(graph.node(node, run), graph.model(node, run, model),
        ...Array.from({ length: 400 }, (_, i) => graph.token(node, run, model, i % 12 === 11 ? `w${i}.\n` : `w${i} `)), graph.nodeEnd(node, run));
    }
    await lease.send(graph.end());
    await lease.finish();
    await state(page, "Succeeded");
    await until("all cards are there", async () => (await page.locator(".card").count()) === 50);
    assert.match(await page.locator(".card").last().textContent(), /w399/);
    await page.getByLabel("Event", { exact: true }).evaluate((el) => {
      for (const at of [0.9, 0.1, 0.5, 0.3, 0.7]) {
        el.value = String(Math.round(Number(el.max) * at));
        el.dispatchEvent(new Event("input", { bubbles: true }));
      }
    });
    await page.locator(".scrub-words", { hasText: /event \S+ of/ }).waitFor();
  });
  assert.deepEqual(long, []);
});

test("500 runs: a few rows are on the page, and scrolling is smooth", async () => {
  for (let i = 0; i < 500; i += 25) await Promise.all(Array.from({ length: 25 }, (_, k) => server.submit("pull", {}, `r${i + k}`)));
  const long = await measured("#/", async (page) => {
    await page.locator(".page-head", { hasText: /50\d runs/ }).or(page.locator(".page-head", { hasText: "so far" })).waitFor();
    const rows = page.locator(".rows");
    for (let i = 0; i < 12; i++) {
      await rows.evaluate((el) => (el.scrollTop += 2500));
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    }
    await page.locator(".page-head", { hasText: "501 runs" }).waitFor();
    await until("the end is reached", async () => {
      await rows.evaluate((el) => (el.scrollTop = el.scrollHeight));
      return (await page.getByRole("link", { name: "long", exact: true }).count()) === 1;
    });
    assert.ok((await page.locator(".rows .run-row").count()) < 60);
  });
  assert.deepEqual(long, []);
});
