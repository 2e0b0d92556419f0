// A server and a browser for the tests of one file.

import { after, before } from "node:test";

import { Stage } from "../../lib/stage.js";
import { launch, open } from "./browser.js";

export let server, browser;

// @prepare: what is there before the first test.
export function setUp(prepare = async () => {}, flags = []) {
  let ready;

  async function begin() {
    server = await new Stage(flags).start();
    browser = await launch();
    await prepare();
  }

  before(() => (ready = begin()));
  after(async () => {
    await ready.catch(() => {}); // it goes on also when no test was asked for
    await browser?.close();
    await server?.close();
  });
}

export async function onPage(hash, options, body) {
  const tab = await open(browser, `${server.url}/#${hash}`, options);
  await body(tab.page);
  await tab.close();
}

export async function state(page, word) {
  await page.locator(".run-head-box .pill", { hasText: word }).waitFor();
}

export async function light(page, word) {
  await page.locator(".light", { hasText: word }).waitFor();
}
