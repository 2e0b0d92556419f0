// Chromium, and the errors of a page in it.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import path from "node:path";

const WAIT_MS = 120_000; // a deadline, of whatever a page does

export const require = createRequire(path.join(process.env.PACKAGES, "package.json"));
const { chromium } = require("playwright-core");

export async function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM, timeout: WAIT_MS, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
}

export async function newContext(browser, options) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(WAIT_MS);
  return context;
}

// A page in a context of its own.  @isCut: losing the server is part of the test, and Chromium
// says so in its own words.
export async function open(browser, url, { isCut = false, ...options } = {}) {
  const context = await newContext(browser, options);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (m) => {
    const isAboutServer = /ERR_CONNECTION|ERR_INTERNET_DISCONNECTED|WebSocket connection|net::ERR_|status of 404/.test(m.text());
    if ((m.type() === "error" || m.type() === "warning") && !(isCut && isAboutServer)) complaints.push(m.text());
  });
  page.on("pageerror", (e) => complaints.push(e.stack));
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (e) => window.violations.push(`${e.violatedDirective} ${e.blockedURI}`));
    window.sockets = 0;
    const Socket = window.WebSocket;
    window.WebSocket = class extends Socket {
      constructor(...args) {
        super(...args);
        window.sockets++;
        this.addEventListener("close", () => window.sockets--);
      }
    };
  });
  await page.goto(url);
  return {
    page,
    async close() {
      assert.deepEqual(await page.evaluate(() => window.violations), []);
      assert.deepEqual(complaints, []);
      await context.close();
    },
  };
}
