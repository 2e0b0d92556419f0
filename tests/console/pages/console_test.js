import assert from "node:assert/strict";
import { test } from "node:test";

import { until } from "../../lib/server.js";
import { graph } from "../../lib/stage.js";
import { light, onPage, server, setUp, state } from "./suite.js";

setUp();

// What the page says about a run, apart from clocks that go on.
function shown(page) {
  return page.evaluate(() => [".card", ".bar", ".panel"].map((what) =>
    [...document.querySelectorAll(what)].map((el) => {
      const copy = el.cloneNode(true);
      copy.querySelectorAll("[data-tick]").forEach((t) => t.remove());
      return copy.textContent + (el.getAttribute("class") ?? "");
    })));
}

// --- the demo ---

test("the demo, from the first click to its report, with the question answered in the page", async () => {
  await onPage("/", {}, async (page) => {
    await page.getByRole("button", { name: "Run the demo agent" }).waitFor();
    await page.getByRole("button", { name: /New run/ }).click();
    await page.getByLabel("Agent").selectOption("demo");
    const input = page.getByLabel("Input (JSON)");
    await input.fill("{");
    await page.getByRole("button", { name: "Start", disabled: true }).waitFor();
    await input.fill('{"issue":"the lift is stuck","speed":8,"ask_timeout":"never"}');
    await page.locator("dialog").getByLabel("Id").fill("demo-1");
    await page.getByRole("button", { name: "Start" }).click();
    await state(page, "Waiting");
    await page.locator(".question", { hasText: "Which environment shows the fault?" }).waitFor();
    await page.locator(".question .left", { hasText: "left" }).waitFor();
    await page.locator(".badge", { hasText: "1" }).waitFor();
    await page.getByLabel("Answer").fill("staging, since Monday");
    await page.getByRole("button", { name: "Answer", exact: true }).click();
    await state(page, "Succeeded");
    await page.locator(".question").waitFor({ state: "detached" });
    for (const name of ["Ticket draft", "Report", "Comment draft"]) await page.locator(".panel", { hasText: name }).first().waitFor();
    await page.getByRole("tab", { name: "Report" }).click();
    const report = page.getByRole("tabpanel");
    await report.getByRole("heading", { name: "the lift is stuck" }).waitFor();
    assert.match(await report.textContent(), /staging, since Monday/);
    const links = await report.getByRole("link").all();
    assert.ok(links.length >= 2);
    for (const link of links) assert.equal(await link.getAttribute("rel"), "noopener noreferrer");
    await page.getByRole("tab", { name: /Artifacts/ }).click();
    await page.getByText("2 of 2", { exact: true }).waitFor(); // todos
    await page.locator(".sources .tag").first().waitFor();
    await page.locator(".file summary", { hasText: "/report.md" }).click();
    await page.locator(".file pre", { hasText: "staging" }).waitFor();
  });
});

test("a node that is visited twice has two cards, with what each visit said", async () => {
  await onPage("/runs/demo-1", {}, async (page) => {
    await state(page, "Succeeded");
    const visits = page.locator(".card", { has: page.locator(".card-name", { hasText: /^investigator$/ }) });
    assert.equal(await visits.count(), 2);
    assert.match(await visits.nth(1).locator(".card-head").textContent(), /visit 2/);
    assert.match(await visits.nth(0).textContent(), /The errors begin/);
    assert.match(await visits.nth(1).textContent(), /Second look/);
  });
});

test("Send fan-out has a card for each, and lanes side by side", async () => {
  const lease = await server.play("g-send-fanout.ndjson", "fan");
  await lease.finish();
  await onPage("/runs/fan", {}, async (page) => {
    await state(page, "Succeeded");
    const names = await page.locator(".card-name").allTextContents();
    const most = Math.max(...names.map((n) => names.filter((m) => m === n).length));
    assert.ok(most >= 2, names.join());
    const lanes = new Set(await page.locator(".bar.is-exec rect").evaluateAll((all) => all.map((r) => r.getAttribute("y"))));
    assert.ok(lanes.size >= 2, [...lanes].join());
  });
});

test("a sub-agent is inside the tool that called it", async () => {
  const lease = await server.play("b-react-nested.ndjson", "nested");
  await lease.finish();
  await onPage("/runs/nested", {}, async (page) => {
    await state(page, "Succeeded");
    await page.getByRole("button", { name: "Show all" }).first().click();
    const sub = page.locator(".item.tool .item.sub").first();
    assert.match(await sub.textContent(), /ask_agent/);
    await page.getByRole("tab", { name: "Tree" }).click();
    const tree = page.getByRole("tree");
    await tree.getByRole("treeitem").first().waitFor();
    const before = await tree.getByRole("treeitem").count();
    await tree.getByRole("treeitem", { name: /initial_scope_agent/ }).first().focus();
    await page.keyboard.press("ArrowLeft");
    await until("it is folded", async () => (await tree.getByRole("treeitem").count()) < before);
    assert.match(await tree.textContent(), /model calls/);
  });
});

test("a run that goes on is seen at its end, until somebody goes up", async () => {
  await server.submit("pull", {}, "tall");
  const lease = await server.lease();
  const card = (i) => {
    const [node, run, model] = [`step${i}`, `n${i}`, `m${i}`];
    return [graph.node(node, run), graph.model(node, run, model), graph.token(node, run, model, `said in card ${i}. `.repeat(30)), graph.nodeEnd(node, run)];
  };
  await lease.send(graph.start(), ...Array.from({ length: 20 }, (_, i) => card(i)).flat());
  await onPage("/runs/tall", {}, async (page) => {
    const isSeen = (i) => page.locator(`#card-n${i}`).evaluate((el) => el.getBoundingClientRect().top < innerHeight && el.getBoundingClientRect().bottom > 300).catch(() => false);
    await page.locator("#card-n19").waitFor();
    await until("the last card is in sight", () => isSeen(19));
    await lease.send(...card(20));
    await until("the next one is in sight", () => isSeen(20));
    // That the page has scrolled is told to it a frame later, when somebody may have begun to go up.
    await page.locator("#card-n20").evaluate((el) => {
      el.dispatchEvent(new WheelEvent("wheel", { deltaY: -1, bubbles: true }));
      el.closest(".cards").dispatchEvent(new Event("scroll"));
    });
    await page.locator(".cards:not(.is-followed)").waitFor();
    await page.locator("#card-n20").hover();
    await page.mouse.wheel(0, -100_000);
    await until("the first card is in sight", () => isSeen(0));
    await lease.send(...card(21));
    await page.locator("#card-n21").waitFor({ state: "attached" });
    assert.equal(await isSeen(21), false);
  });
  await lease.finish();
});

// --- endings ---

test("failure, cancellation and interruption look like what they are", async () => {
  const lease = await server.play("c-node-throws.ndjson", "throws");
  await lease.finish("failure", { error: "boom at the end", details: { stderr: "Traceback: its last words" } }).catch(() => {});
  await onPage("/runs/throws", {}, async (page) => {
    await state(page, "Failed");
    await page.locator(".verdict.is-failed", { hasText: "Traceback: its last words" }).waitFor();
    await page.locator(".card.is-error .wrong").first().waitFor();
    assert.ok((await page.locator(".moment.is-error").count()) > 0);
    assert.equal(await page.getByRole("button", { name: "Cancel" }).count(), 0);
  });
  await server.submit("demo", { speed: 0.2 }, "stopped");
  await onPage("/runs/stopped", {}, async (page) => {
    await page.locator(".card.is-open").first().waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await state(page, "Cancelled");
    await page.locator(".verdict.is-cancelled").waitFor();
    await page.locator(".card.is-cancelled").first().waitFor();
    assert.equal(await page.locator(".card.is-open").count(), 0);
  });
  await server.submit("demo", { speed: 20, ask_timeout: "never" }, "asks");
  await server.untilState("asks", "waiting");
  await onPage("/runs/asks", {}, async (page) => {
    await state(page, "Waiting");
    await page.locator(".card.is-interrupted").waitFor();
    await page.locator(".moment.is-interrupt").waitFor();
  });
});

// --- the same, again ---

test("a reload in the middle of a run changes nothing", async () => {
  await server.submit("pull", {}, "reload");
  const lease = await server.lease();
  const text = Array.from({ length: 40 }, (_, i) => `word${i} `);
  await lease.send(graph.start(), graph.node("writer", "n1"), graph.model("writer", "n1", "m1"), ...text.slice(0, 20).map((t) => graph.token("writer", "n1", "m1", t)));
  await onPage("/runs/reload", {}, async (page) => {
    await page.locator(".said", { hasText: "word19" }).waitFor();
    const before = await shown(page);
    await page.reload();
    await page.locator(".said", { hasText: "word19" }).waitFor();
    assert.deepEqual(await shown(page), before);
    await lease.send(...text.slice(20).map((t) => graph.token("writer", "n1", "m1", t)), graph.modelEnd("writer", "n1", "m1", text.join("")));
    await page.locator(".said", { hasText: "word39" }).waitFor();
    assert.equal((await page.locator(".said").first().textContent()).trim(), text.join("").trim());
    await lease.send(graph.nodeEnd("writer", "n1"), graph.end());
    await lease.finish();
    await state(page, "Succeeded");
  });
});

test("through restarts of the server nothing is lost and nothing doubled, and the light tells", async () => {
  await server.submit("pull", {}, "restart");
  let lease = await server.lease();
  const words = Array.from({ length: 30 }, (_, i) => `tok${i}.`);
  const send = (from, to) => lease.send(...words.slice(from, to).map((t) => graph.token("writer", "n1", "m1", t)));
  await lease.send(graph.start(), graph.node("writer", "n1"), graph.model("writer", "n1", "m1"));
  await send(0, 10);
  await onPage("/runs/restart", { isCut: true }, async (page) => {
    await page.locator(".said", { hasText: "tok9." }).waitFor();
    await light(page, "Live");
    await server.kill();
    await light(page, /Reconnecting|Server gone/);
    await light(page, "Server gone: the server does not answer");
    await server.start();
    await light(page, "Live");
    await send(10, 20);
    await page.locator(".said", { hasText: "tok19." }).waitFor();
    await server.stop();
    await light(page, /Reconnecting|Server gone/);
    await server.start();
    await send(20, 30);
    await page.locator(".said", { hasText: "tok29." }).waitFor();
    assert.equal((await page.locator(".said").first().textContent()).trim(), words.join(""));
    await light(page, "Live");
    assert.equal(await page.evaluate(() => window.sockets), 1);
    await lease.send(graph.nodeEnd("writer", "n1"), graph.end());
    await lease.finish();
    await state(page, "Succeeded");
  });
});

test("the page goes on by itself after the network was away", async () => {
  await onPage("/", { isCut: true }, async (page) => {
    await light(page, "Live");
    await page.context().setOffline(true);
    await light(page, "offline");
    await server.submit("pull", {}, "meanwhile");
    await page.context().setOffline(false);
    await light(page, "Live");
    await page.locator(".run-row", { hasText: "meanwhile" }).waitFor();
    await server.ask("POST", "/v1/jobs/meanwhile/cancel");
    await page.locator(".run-row", { hasText: "meanwhile" }).locator(".pill", { hasText: "Cancelled" }).waitFor();
  });
});

// --- the scrubber ---

test("the scrubber shows what was live at the same event", async () => {
  await server.submit("demo", { speed: 20, ask_timeout: "never" }, "scrub");
  await server.untilState("scrub", "waiting");
  await onPage("/runs/scrub", {}, async (page) => {
    await state(page, "Waiting");
    const { events } = await server.ask("GET", "/v1/jobs/scrub");
    await page.locator(".scrub-words", { hasText: `event ${events} of ${events}` }).waitFor();
    const live = await shown(page);
    await server.ask("POST", "/v1/jobs/scrub/answer", { value: "production" });
    await state(page, "Succeeded");
    const range = page.getByLabel("Event", { exact: true });
    const go = (seq) => range.evaluate((el, value) => {
      el.value = String(value);
      el.dispatchEvent(new Event("input", { bubbles: true }));
    }, seq);
    const end = await shown(page);
    await go(events);
    await page.locator(".scrub-words", { hasText: `event ${events} of` }).waitFor();
    assert.deepEqual(await shown(page), live);
    await go(60);
    await page.locator(".scrub-words", { hasText: "event 60 of" }).waitFor();
    assert.ok((await page.locator(".card").count()) < live[0].length);
    await page.getByRole("button", { name: "Play at 16 times the speed" }).click();
    await until("it has played to the end", async () => (await page.locator(".run-head-box .pill").textContent()) === "Succeeded");
    await page.getByRole("button", { name: "Latest" }).click();
    assert.deepEqual(await shown(page), end);
  });
});

// --- text from outside ---

test("hostile text is shown, and does nothing", async () => {
  const texts = [
    `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><b>bold</b>`,
    "[a](javascript:window.hacked=1) [b](https://example.org/b) <a href='javascript:1'>c</a>",
    "\u202Eevil\u202C \u0000\u0007\u001b[31m red \u2066x\u2069",
    "x".repeat(30000),
    "שלום עולם العربية 👩‍💻",
  ];
  await server.submit("pull", {}, "hostile");
  const lease = await server.lease('<b onmouseover="window.hacked=1">w</b>');
  const node = "<u>writer</u>\u202E";
  await lease.send(graph.start(), graph.node(node, "n1"), graph.model(node, "n1", "m1"), ...texts.map((t) => graph.token(node, "n1", "m1", `${t}\n\n`)),
    graph.modelEnd(node, "n1", "m1", texts.join("\n\n")), { event: "on_custom_event", name: "<i>note</i>", run_id: "n1", parent_ids: ["root"], tags: [], metadata: {}, data: { "<b>": texts[0] } });
  await onPage("/runs/hostile", {}, async (page) => {
    await page.locator(".card-name", { hasText: "<u>writer</u>‹202E›" }).waitFor();
    await page.locator(".said", { hasText: "‹202E›evil‹202C› ␀␇␛[31m red" }).first().waitFor();
    await page.locator(".said", { hasText: texts.at(-1) }).first().waitFor();
    const said = await page.locator(".said").first().textContent();
    for (const text of [texts[0], texts[1], texts[3], texts[4]]) assert.ok(said.includes(text), text.slice(0, 40));
    for (const tab of ["Output", "Artifacts", "Tree", "Events", "Adopt"]) {
      await page.getByRole("tab", { name: new RegExp(tab) }).click();
      await page.getByRole("tabpanel").waitFor();
    }
    await page.getByRole("tab", { name: "Output" }).click();
    assert.equal(await page.locator("main img, main script, main b, main u").count(), 0);
    for (const link of await page.locator("main a").all()) assert.match(await link.getAttribute("href"), /^(#|https?:)/);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the page");
  });
  await onPage("/workers", {}, async (page) => {
    await page.getByText('<b onmouseover="window.hacked=1">w</b>').waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
  });
  await lease.finish();
});
