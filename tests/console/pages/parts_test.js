// The parts of a run's page, and the connection that feeds it.

import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";

import { until } from "../../lib/server.js";
import { graph } from "../../lib/stage.js";
import { light, onPage, server, setUp, state } from "./suite.js";

setUp(async () => {
  await server.submit("demo", { speed: 50 }, "done");
  await server.submit("demo", { speed: 50, ask_timeout: "never" }, "asks");
  await server.untilState("done", "succeeded");
  await server.untilState("asks", "waiting");
});

test("a card has its reasoning folded away, its tools with input and result, its state and its time", async () => {
  const node = ["thinker", "n1"];
  const thought = graph.token(...node, "m1", "");
  thought.data.chunk.additional_kwargs.reasoning_content = "since the pool is empty";
  await server.submit("pull", {}, "thinks");
  const lease = await server.lease();
  await lease.send(graph.start(), graph.node(...node), graph.model(...node, "m1"), thought, graph.token(...node, "m1", "It leaks."),
    graph.modelEnd(...node, "m1", "It leaks."), graph.tool(...node, "t1", "grep", { pattern: "acquire" }));
  await onPage("/runs/thinks", {}, async (page) => {
    const card = page.locator(".card", { hasText: "thinker" });
    await card.locator(".said", { hasText: "It leaks." }).waitFor();
    assert.equal(await page.getByText("since the pool is empty").count(), 0);
    await card.getByText(/^Reasoning/).click();
    await page.getByText("since the pool is empty").waitFor();
    const tool = card.locator(".item.tool");
    await tool.filter({ hasText: /grep.*running.*\{"pattern":"acquire"\}/ }).waitFor();
    const took = await card.locator(".card-head .took").textContent();
    await until("its time goes on", async () => (await card.locator(".card-head .took").textContent()) !== took);
    await lease.send(graph.toolEnd(...node, "t1", "grep", "db/pool.py:42"), graph.nodeEnd(...node), graph.end());
    await lease.finish();
    await tool.locator(".result", { hasText: "db/pool.py:42" }).waitFor();
    await card.locator(".card-head .mark", { hasText: "done" }).waitFor();
  });
});

test("the timeline is zoomed by buttons, wheel and keys, and tells about what is pointed at", async () => {
  await onPage("/runs/done", {}, async (page) => {
    await state(page, "Succeeded");
    const bar = page.locator(".bar.is-exec", { hasText: "writer" });
    const width = async () => Number(await bar.locator("rect").getAttribute("width"));
    const changes = async (what, isRight, act) => {
      const before = await width();
      await act();
      await until(what, async () => isRight(await width(), before));
    };
    const box = page.locator(".timeline-box");
    const isMore = (now, before) => now > before;
    await bar.hover();
    await page.locator(".tip", { hasText: /writer.*ok.*begins at/ }).waitFor();
    await changes("the wheel zooms", isMore, async () => {
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, -100);
      await page.keyboard.up("Control");
    });
    await changes("it fits again", (now, before) => now < before, () => page.getByRole("button", { name: "Fit" }).click());
    await box.focus();
    await changes("a key zooms", isMore, () => page.keyboard.press("+"));
    await changes("a key shows all", (now, before) => now < before, () => page.keyboard.press("0"));
    await bar.click();
    await until("its card is in sight", () => page.locator(".card", { hasText: "writer" }).last().evaluate((el) => el.getBoundingClientRect().top < innerHeight));
  });
});

test("a file is downloaded as it was made, and the question has its context", async () => {
  await onPage("/runs/done", {}, async (page) => {
    await page.getByRole("tab", { name: /Artifacts/ }).click();
    await page.locator(".file summary", { hasText: "/report.md" }).click();
    const shown = await page.locator(".file pre").first().textContent();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download /report.md" }).click()]);
    assert.equal(download.suggestedFilename(), "report.md");
    assert.equal(fs.readFileSync(await download.path(), "utf8"), shown);
  });
  await onPage("/runs/asks", {}, async (page) => {
    await page.locator(".question .context", { hasText: "Two candidates: staging and production." }).waitFor();
  });
});

test("many questions at once leave room for the run, and each can be answered", async () => {
  await server.submit("pull", {}, "curious");
  const lease = await server.lease();
  await lease.send(graph.start(), graph.node("asker", "n1"),
    ...Array.from({ length: 10 }, (_, i) => ({ type: "graph.interrupt", id: `q${i}`, value: { question: `Number ${i}?`, options: ["yes", "no"] } })));
  await lease.finish("interrupted");
  await onPage("/runs/curious", {}, async (page) => {
    const questions = page.locator(".question:not(.is-past)");
    await until("all are there", async () => (await questions.count()) === 10);
    assert.ok(await page.locator(".card").first().evaluate((el) => el.getBoundingClientRect().top < innerHeight));
    await page.locator(".questions").hover();
    await page.mouse.wheel(0, 10000);
    await until("the last one is in sight", () => questions.last().evaluate((el) => el.getBoundingClientRect().bottom <= innerHeight));
    for (let n = 9; n >= 0; n--) {
      await questions.last().getByRole("button", { name: "yes" }).click();
      await until(`${n} are left`, async () => (await questions.count()) === n);
      if (n > 0) await page.locator(".question.is-past", { hasText: "Answered" }).first().waitFor();
    }
  });
  const next = await server.lease();
  assert.deepEqual(Object.values(next.order.resume), Array(10).fill("yes"));
  await next.finish();
});

test("of the log a few lines are on the page, all are reached, and words are found in it", async () => {
  await onPage("/runs/done", {}, async (page) => {
    await state(page, "Succeeded");
    const { events } = await server.get("/v1/jobs/done");
    await page.keyboard.press("/");
    await page.locator("#find-event:focus").waitFor();
    await page.locator(".events select").selectOption("raw");
    await page.locator(".log-event", { hasText: "job.start" }).waitFor();
    await until("the last event is there", async () => {
      await page.locator(".log").evaluate((el) => (el.scrollTop = el.scrollHeight));
      return (await page.locator(".log-id").last().textContent()) === String(events);
    });
    assert.ok((await page.locator(".log-line").count()) < 80);
    await page.getByLabel("Search events").fill("tool.end grep");
    await until("only those are left", async () => (await page.locator(".log-event").allTextContents()).join() === "tool.end");
  });
});

test("the scrubber is dragged, and plays at each speed", async () => {
  await onPage("/runs/done", {}, async (page) => {
    await state(page, "Succeeded");
    const range = page.getByLabel("Event", { exact: true });
    const box = await range.boundingBox();
    const at = (part) => [box.x + box.width * part, box.y + box.height / 2];
    await page.mouse.move(...at(0.99));
    await page.mouse.down();
    await page.mouse.move(...at(0.5), { steps: 5 });
    await state(page, "Running");
    const cards = await page.locator(".card").count();
    await page.mouse.move(...at(0.2), { steps: 5 });
    await page.mouse.up();
    await until("there are fewer cards", async () => (await page.locator(".card").count()) < cards);
    for (const speed of [1, 4, 16]) {
      await range.evaluate((el) => {
        el.value = "2";
        el.dispatchEvent(new Event("input", { bubbles: true }));
      });
      await page.locator(".scrub-words", { hasText: "event 2 of" }).waitFor();
      await page.getByRole("button", { name: `Play at ${speed} times the speed` }).click();
      await state(page, "Succeeded");
    }
  });
});

// --- the connection ---

// A page whose connection can be held up: nothing comes, and nobody is told.
async function heldUp(hash, body) {
  await onPage("/agents", {}, async (page) => {
    const wire = { isDead: false, isHeld: () => false, held: [], n: 0 };
    await page.routeWebSocket(/\/v1\/stream/, (client) => {
      const isFirst = wire.n++ === 0;
      const far = client.connectToServer();
      const isDead = () => isFirst && wire.isDead;
      client.onMessage((text) => isDead() || far.send(text));
      far.onMessage((text) => {
        if (isDead()) return;
        if (wire.isHeld(text)) wire.held.push(() => client.send(text));
        else client.send(text);
      });
    });
    await body(page, wire, async () => {
      await page.goto(`${server.url}/#${hash}`);
      await page.reload();
    });
  });
}

test("the light says that it is catching up until what is there has been read", async () => {
  await heldUp("/runs/done", async (page, wire, go) => {
    wire.isHeld = (text) => wire.held.length > 0 || text.startsWith('{"job":"done","id":"400"');
    await go();
    await light(page, "Catching up");
    await page.locator(".card").first().waitFor();
    wire.isHeld = () => false;
    for (const send of wire.held) send();
    await state(page, "Succeeded");
    await light(page, "Live");
  });
});

test("after sleep, and when the way is lost without a word, the page comes back by itself", async () => {
  for (const [id, ms] of [["slept", 60_000], ["silent", 0]]) {
    await heldUp("/", async (page, wire, go) => {
      await page.clock.install();
      await go();
      await light(page, "Live");
      wire.isDead = true;
      await server.submit("pull", {}, id);
      if (ms > 0) await page.clock.fastForward(ms);
      else for (let s = 0; s < 30; s += 1) await page.clock.runFor(1000);
      await until("it has connected again", () => wire.n === 2);
      await page.locator(".run-row", { hasText: id }).waitFor();
      await light(page, "Live");
      assert.equal(wire.n, 2);
    });
    await server.ask("POST", `/v1/jobs/${id}/cancel`);
  }
});

// --- for everybody ---

test("colours follow the reader's preference, and nothing moves for those who want it so", async () => {
  await server.submit("pull", {}, "moves");
  const lease = await server.lease();
  const seen = [];
  for (const [colorScheme, reducedMotion] of [["light", "reduce"], ["dark", "no-preference"]]) {
    await onPage("/", { colorScheme, reducedMotion }, async (page) => {
      const dot = page.locator(".pill.is-running .dot").first();
      seen.push([await page.evaluate(() => getComputedStyle(document.body).backgroundColor), await dot.evaluate((el) => getComputedStyle(el).animationName)]);
    });
  }
  await lease.finish();
  const brightness = seen.map(([colour]) => Math.max(...colour.match(/\d+/g).slice(0, 3).map(Number)));
  assert.ok(brightness[0] > 230 && brightness[1] < 40, String(brightness));
  assert.deepEqual(seen.map(([, name]) => name), ["none", "pulse"]);
});

test("the tab key goes from the skip link through the pages to what is on this one", async () => {
  await onPage("/", {}, async (page) => {
    await page.locator(".rows .run-row").first().waitFor();
    const names = [];
    for (let i = 0; i < 12; i++) {
      await page.keyboard.press("Tab");
      names.push(await page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent));
    }
    const order = ["To the page", "Runs", "Inbox", "Workers", "Agents", "Server", "New run", "Search runs"].map((name) => names.findIndex((n) => n.startsWith(name)));
    assert.deepEqual(order, order.toSorted((a, b) => a - b), names.join());
    assert.ok(order[0] === 0, names.join());
  });
});
