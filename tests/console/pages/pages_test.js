// The pages around a run: lists, forms, keys, login, accessibility and layout.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { until } from "../../lib/server.js";
import { graph, Stage } from "../../lib/stage.js";
import { newContext, open, require } from "./browser.js";
import { browser, light, onPage, server, setUp } from "./suite.js";

setUp(async () => {
  await server.submit("demo", { speed: 50, ask_timeout: "never" }, "asks");
  await server.submit("demo", { speed: 50 }, "done");
  await server.submit("demo", { speed: 50, fail_at: "critic" }, "broken");
  await server.untilState("asks", "waiting");
  await server.untilState("done", "succeeded");
  await server.untilState("broken", "failed");
});

// --- runs ---

test("the list is live, searched and filtered, and follows by its one connection", async () => {
  await onPage("/", {}, async (page) => {
    const row = (id) => page.locator(".run-row", { has: page.getByRole("link", { name: id, exact: true }) });
    await row("broken").locator(".run-about", { hasText: "critic was told to fail" }).waitFor();
    await row("asks").locator(".run-about", { hasText: "asks: Which environment" }).waitFor();
    const asked = [];
    page.on("request", (r) => asked.push(new URL(r.url()).pathname));
    await server.submit("pull", {}, "listed");
    await row("listed").locator(".pill", { hasText: "Queued" }).waitFor();
    const lease = await server.lease();
    await row("listed").locator(".pill", { hasText: "Running" }).waitFor();
    await lease.send(graph.start(), graph.node("thinker", "n1"));
    await row("listed").locator(".run-about", { hasText: "thinker" }).waitFor();
    await lease.send(graph.progress("thinker", "n1", 40, "reading logs"));
    const meter = page.getByRole("progressbar", { name: "Progress of listed" });
    await meter.waitFor();
    assert.equal(await meter.getAttribute("value"), "40");
    await row("listed").locator(".run-about", { hasText: "reading logs" }).waitFor();
    await row("listed").locator(".run-took", { hasText: /^\d.* (ms|s)$/ }).waitFor();
    await row("listed").locator(".run-age", { hasText: /^(now|\d+ ?s)/ }).waitFor();
    await lease.send(graph.nodeEnd("thinker", "n1"));
    await meter.waitFor({ state: "detached" });
    assert.deepEqual(asked, []); // not by asking
    await page.getByRole("button", { name: "Cancel listed" }).click();
    await row("listed").locator(".pill", { hasText: /Cancelled/ }).waitFor();
    await page.getByRole("button", { name: "Failed", exact: true }).click();
    await until("one is left", async () => (await page.locator(".rows .run-row").count()) === 1);
    await page.getByRole("button", { name: "All", exact: true }).click();
    await page.getByLabel("Search runs").fill("don");
    await until("one is left", async () => (await page.locator(".rows .run-row").allTextContents()).length === 1);
    assert.equal(await page.evaluate(() => window.sockets), 1);
  });
});

// Holds up the answer to a request that matches, which the server has given by then.
async function holdUp(page, pattern) {
  const held = { n: 0 };
  const released = new Promise((resolve) => (held.release = resolve));
  await page.route(pattern, async (route) => {
    const isFirst = held.n === 0;
    const response = await route.fetch();
    held.n++;
    if (isFirst) await released;
    await route.fulfill({ response });
  });
  return held;
}

test("an answer that was overtaken by news does not take them back", async () => {
  await onPage("/agents", {}, async (page) => {
    const heard = [];
    page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => heard.push(payload)));
    const hears = (id, state) => until(`it hears that ${id} is ${state}`, () => heard.some((t) => t.includes(`"${id}"`) && t.includes(`"state":"${state}"`)));
    const is = (id, word) => page.locator(".run-row", { hasText: id }).locator(".pill", { hasText: word }).waitFor();

    await page.locator(".tile").first().waitFor(); // all lists have been read
    const jobs = await holdUp(page, "**/v1/jobs?limit=*");
    await server.submit("pull", {}, "overtaken");
    await page.goto(`${server.url}/#/`);
    await page.reload();
    await until("the list was read", () => jobs.n > 0);
    const lease = await server.lease();
    await hears("overtaken", "running");
    await server.submit("pull", {}, "unlisted");
    await hears("unlisted", "queued");
    jobs.release();
    await is("overtaken", "Running");
    await is("unlisted", "Queued");

    const job = await holdUp(page, "**/v1/jobs/overtaken");
    await lease.send({ type: "graph.interrupt", id: "q", value: { question: "Go on?" } });
    await lease.finish("interrupted");
    await until("the job was read", () => job.n > 0);
    await server.ask("POST", "/v1/jobs/unlisted/cancel");
    await server.ask("POST", "/v1/jobs/overtaken/answer", { value: "yes" });
    await (await server.lease()).finish();
    await hears("overtaken", "succeeded");
    job.release();
    await until("it is read again", () => job.n > 1);
    await is("overtaken", "Succeeded");
  });
});

test("the keys j k enter / c ? g do what the help says", async () => {
  await onPage("/", {}, async (page) => {
    await page.locator(".rows .run-row").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.locator(".rows .run-row.is-chosen:first-child").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("done");
    assert.equal(await page.getByLabel("Search runs").inputValue(), "done");
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.locator("h1", { hasText: "done" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator("h1", { hasText: "Runs" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("new run").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("c");
    await page.getByRole("dialog").getByLabel("Input (JSON)").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("g");
    await page.keyboard.press("w");
    await page.locator("h1", { hasText: "Workers" }).waitFor();
  });
});

// A key may come before the browser has drawn what the last one did.
test("no key is lost to a dialog that has just been closed, nor to a frame that has not been drawn", async () => {
  await onPage("/", {}, async (page) => {
    const press = (...keys) => page.evaluate((all) => {
      document.querySelector("dialog")?.close();
      for (const key of all) document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    }, keys);
    await page.locator(".rows .run-row").first().waitFor();
    await press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    for (let i = 0; i < 2; i++) {
      await press("c");
      await page.getByRole("dialog", { name: "New run" }).getByLabel("Input (JSON)").waitFor();
      assert.equal(await page.locator("dialog").count(), 1);
    }
    await press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await press("j", "/");
    await page.locator(".run-row.is-chosen").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), "find");
  });
});

// --- the other pages ---

test("the inbox answers by the schema of each question, and workers, agents and the server are told of", async () => {
  await server.submit("pull", {}, "form");
  const lease = await server.lease("box-7");
  const schema = { type: "object", required: ["go", "where"], properties: { go: { type: "boolean" }, where: { enum: ["here", "there"] }, times: { type: "integer" } } };
  await onPage("/workers", {}, async (page) => {
    const row = page.locator("tr", { hasText: "box-7" });
    await row.getByRole("link", { name: "form" }).waitFor();
    assert.match((await row.getByRole("cell").allTextContents()).join("|"), /^box-7\|pull\|form\|1\|\d.* (s|min).*\|(now|\d+ s ago)$/);
  });
  await lease.send({ type: "graph.interrupt", id: "q1", value: { question: "Ship it?", schema, expires_in: 3600, on_expiry: "cancel" } });
  await lease.finish("interrupted");
  await server.untilState("form", "waiting");
  await onPage("/inbox", {}, async (page) => {
    const item = page.locator(".inbox-item", { hasText: "Ship it?" });
    await item.getByText(/59 min .* left, then the run is cancelled/).waitFor();
    await item.getByRole("button", { name: "Answer", exact: true }).click();
    await item.getByRole("alert").getByText("choose one for where").waitFor();
    await item.getByLabel("Yes").check();
    await item.getByLabel("there").check();
    await item.getByLabel("times").fill("3");
    await item.getByRole("button", { name: "Answer", exact: true }).click();
    await item.waitFor({ state: "detached" });
  });
  const next = await server.lease();
  assert.deepEqual(Object.values(next.order.resume), [{ go: true, where: "there", times: 3 }]);
  await next.finish();
  await onPage("/agents", {}, async (page) => {
    await page.locator(".tile", { hasText: "demo" }).getByRole("button", { name: "New run" }).click();
    const dialog = page.getByRole("dialog");
    assert.equal(await dialog.getByLabel("Agent").inputValue(), "demo");
    await dialog.getByLabel("Input (JSON)").fill('{"mine": 1}');
    await dialog.getByLabel("Agent").selectOption("pull"); // an example goes with its agent, what was typed stays
    await dialog.getByRole("button", { name: "Start" }).click();
    await dialog.waitFor({ state: "detached" });
  });
  const typed = await server.lease();
  assert.deepEqual(typed.order.input, { mine: 1 });
  await typed.finish();
  await onPage("/server", {}, async (page) => {
    await page.locator(".chart", { hasText: "Events stored" }).locator("polyline").waitFor({ state: "attached" });
    const figures = ["Events stored", "Commit", "Delivery", "Readers of runs", "Connections", "Jobs at work", "Memory", "Disk"];
    for (const name of figures) assert.match(await page.locator(".chart", { hasText: name }).textContent(), /\d/);
    assert.match(await page.locator(".chart", { hasText: "Readers of runs" }).textContent(), /SSE \d+, WebSocket \d+, JSON lines \d+, long poll \d+/);
  });
});

test("workers that cannot work for an agent are named with the reason, until they can", async () => {
  const tell = (worker, error) => server.ask("POST", "/v1/worker/agents/pull/state", { worker, error });
  for (const n of [1, 2, 3]) await tell(`dask tcp://10.0.0.${n}:1`, "import error: No module named 'graphs' <b>");
  await onPage("/agents", {}, async (page) => {
    const tile = page.locator(".tile", { has: page.getByRole("heading", { name: "pull", exact: true }) });
    await tile.getByText("3 workers, import error: No module named 'graphs' <b>", { exact: true }).waitFor();
    for (const n of [1, 2]) await tell(`dask tcp://10.0.0.${n}:1`, null);
    await tile.getByText("1 worker, import error: No module named 'graphs' <b>", { exact: true }).waitFor();
    await tell("dask tcp://10.0.0.3:1", null);
    await tile.locator("p.wrong").waitFor({ state: "detached" });
  });
});

test("events in every dialect are what curl gets", async () => {
  await onPage("/runs/done", { permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
    await page.getByRole("tab", { name: /Events/ }).click();
    const { dialects } = await server.ask("GET", "/v1/dialects");
    for (const { name } of dialects) {
      await page.locator(".events select").selectOption(name);
      const wanted = (await server.ask("GET", `/v1/jobs/done/events?format=json&limit=3&dialect=${name}`)).events;
      const lines = () => page.locator(".log-line").evaluateAll((all) => all.slice(0, 3).map((l) => [".log-id", ".log-event"].map((c) => l.querySelector(c).textContent)));
      await until(`${name} is shown`, async () => isDeepStrictEqual(await lines(), wanted.map((e) => [e.id ?? "", e.event])));
    }
    await page.getByRole("button", { name: "Copy as curl" }).click();
    const line = await until("it is copied", () => page.evaluate(() => navigator.clipboard.readText()));
    const [program, ...args] = line.match(/'[^']*'|\S+/g).map((w) => w.replaceAll("'", ""));
    const got = execFileSync(program, ["-s", ...args], { encoding: "utf8" });
    const rows = await page.locator(".log-event").allTextContents();
    assert.deepEqual([...got.matchAll(/^event: (.*)$/gm)].slice(0, 5).map((m) => m[1]), rows.slice(0, 5));
    await page.locator(".log-button").nth(5).click();
    await page.getByRole("button", { name: "Show the run as it was here" }).click();
    await page.locator(".scrub-words", { hasText: /event \d+ of/ }).waitFor();
    await page.getByRole("tab", { name: "Adopt" }).click();
    await page.locator(".panel pre", { hasText: "spoolwire tail done" }).waitFor();
  });
});

test("a run that is not there says so", async () => {
  await onPage("/runs/nobody", { isCut: true }, async (page) => {
    await page.getByText("There is no such run").or(page.getByText("not found")).first().waitFor();
  });
});

// --- tokens ---

test("a locked server asks for a token, and the page keeps none that a script could read", async (t) => {
  const locked = await new Stage(["--auth", "required"]).start();
  t.after(() => locked.close());
  const token = execFileSync(process.env.SPOOLWIRE, ["token", "create", "--scope", "admin", "--name", "me", "--data", locked.data], { encoding: "utf8" }).trim();
  const tab = await open(browser, `${locked.url}/`, { isCut: true });
  const { page } = tab;
  await page.getByLabel("Token").fill("spw_nonsense");
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Open" }).click();
  await light(page, "Live");
  await page.getByRole("button", { name: "Run the demo agent" }).click();
  await page.locator(".card").first().waitFor();
  assert.equal(await page.evaluate(() => document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)), "{}{}");
  await page.reload();
  await page.locator(".card").first().waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  await page.context().close(); // refusals are in its console, as they should be
});

test("six tabs at once have one connection each, and all are live", async () => {
  const context = await newContext(browser);
  const pages = await Promise.all(Array.from({ length: 6 }, () => context.newPage()));
  const sockets = pages.map(() => 0);
  pages.forEach((p, i) => p.on("websocket", () => sockets[i]++));
  await Promise.all(pages.map((p) => p.goto(`${server.url}/#/runs/asks`)));
  for (const p of pages) {
    await light(p, "Live");
    await p.locator(".question", { hasText: "Which environment" }).waitFor();
  }
  assert.deepEqual(sockets, [1, 1, 1, 1, 1, 1]);
  await context.close();
});

// --- for everybody ---

const PAGES = ["/", "/runs/done", "/runs/asks", "/runs/broken", "/inbox", "/workers", "/agents", "/server"];
// By what one knows that a page is there.
const SIGNS = [["/", ".rows .run-row"], ["/runs/done", ".run-head-box .pill.is-succeeded"], ["/runs/asks", ".question"], ["/server", ".chart .figure"]];
const SIZES = [[320, 700], [1280, 860], [3840, 2160]];

test("the server's page lists the gateways that share its database", async () => {
  const started_at = new Date(Date.now() - 90000).toISOString();
  const gateways = [1, 2, 3].map((i) => ({ id: `gateway-${i}`, url: `http://10.0.0.${i}:8400`, version: "0.1.0", started_at, writes: i === 2, shards: i === 2 ? [0] : [] }));
  const table = (page) => page.getByRole("region", { name: "Table of gateways" });
  await onPage("/server", {}, async (page) => {
    await page.locator(".tiles").first().waitFor();
    const answer = await page.evaluate(async () => (await fetch("/v1/gateways")).json());
    assert.equal(await table(page).count(), answer.gateways.length > 0 ? 1 : 0); // none with SQLite
  });
  for (const colorScheme of ["light", "dark"]) {
    await onPage("/", { colorScheme }, async (page) => {
      await page.route("**/v1/gateways", (route) => route.fulfill({ json: { id: "gateway-3", writer: gateways[1].url, reachable: true, gateways } }));
      await page.evaluate(() => (location.hash = "/server"));
      await table(page).waitFor();
      const rows = await table(page).locator("tbody tr").allTextContents();
      assert.equal(rows.length, 3);
      assert.match(rows[0], /10\.0\.0\.1:8400.*gateway-1.*0\.1\.0.*forwards.*1.*m/);
      assert.match(rows[1], /10\.0\.0\.2:8400.*writes(?! shard)/);
      assert.match(rows[2], /this one.*forwards/);
      [gateways[0], gateways[1], gateways[2]].forEach((g, i) => (g.shards = [[0, 3], [1], []][i]));
      await table(page).getByText("writes shards 0, 3").waitFor(); // it looks every two seconds
      const shared = await table(page).locator("tbody tr").allTextContents();
      assert.match(shared[1], /writes shard 1/);
      assert.match(shared[2], /forwards/);
      gateways.forEach((g, i) => (g.shards = i === 1 ? [0] : []));
      await page.screenshot({ path: path.join(process.env.SCREENSHOTS, `gateways-${colorScheme}.png`), fullPage: true });
    });
  }
});

test("axe finds nothing serious, on any page, light and dark", async () => {
  const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
  for (const colorScheme of ["light", "dark"]) {
    const context = await newContext(browser, { colorScheme, bypassCSP: true });
    const page = await context.newPage();
    for (const hash of PAGES) {
      await page.goto(`${server.url}/#${hash}`);
      await page.reload();
      await light(page, "Live");
      await page.locator("h1").waitFor();
      await page.evaluate(axe);
      const tabs = hash.startsWith("/runs/done") ? ["Output", "Artifacts", "Tree", "Events", "Adopt"] : [""];
      for (const tab of tabs) {
        if (tab !== "") await page.getByRole("tab", { name: new RegExp(tab) }).click();
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        const bad = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
        assert.deepEqual(bad.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")}`), [], `${colorScheme} ${hash} ${tab}`);
      }
    }
    await context.close();
  }
});

test("it fits at 320 pixels and at 4K, light and dark", async () => {
  fs.mkdirSync(process.env.SCREENSHOTS, { recursive: true });
  for (const [width, height] of SIZES) {
    for (const colorScheme of ["light", "dark"]) {
      const tab = await open(browser, `${server.url}/`, { viewport: { width, height }, colorScheme });
      for (const [hash, sign] of SIGNS) {
        await tab.page.goto(`${server.url}/#${hash}`);
        await tab.page.locator(sign).first().waitFor();
        assert.ok(await tab.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${hash} at ${width}`);
        await tab.page.screenshot({ path: path.join(process.env.SCREENSHOTS, `${hash.replace(/\W+/g, "-").slice(1) || "runs"}-${width}-${colorScheme}.png`) });
      }
      await tab.close();
    }
  }
});
