// What the server has after any place is what a reader that stayed got there.

import assert from "node:assert/strict";
import net from "node:net";
import { after, before, test } from "node:test";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

import { until } from "../../lib/server.js";
import { Stage } from "../../lib/stage.js";
import { recordings } from "./app.mjs";

const AT_ONCE = 64; // requests on their way
const RESTS = ["succeeded", "failed", "waiting"];
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "spoolwire-wire-"));
let server;

before(async () => {
  recordings.forEach((name, i) => fs.symlinkSync(path.join(process.env.RECORDINGS, name), path.join(folder, `r${i}`)));
  server = await new Stage(["--durability", "relaxed"], `  play: {command: [sh, -c, 'zcat -f < "${folder}/$SPOOLWIRE_JOB"']}\n`).start();
  await Promise.all(recordings.map((_, i) => server.submit("play", {}, `r${i}`)));
});

after(async () => {
  await server?.close();
  fs.rmSync(folder, { recursive: true });
});

// The bodies of answers to requests that are sent one behind the other, many before the first
// answer: there are tens of thousands of places.
async function* pipelined(requests) {
  const socket = net.connect(server.port, "127.0.0.1");
  let bytes = Buffer.alloc(0);
  let nSent = 0;
  let nRead = 0;
  const send = () => {
    const due = requests.slice(nSent, nRead + AT_ONCE);
    nSent += due.length;
    if (due.length > 0) socket.write(due.join(""));
  };
  send();
  for await (const part of socket) {
    bytes = Buffer.concat([bytes, part]);
    for (let head; (head = bytes.indexOf("\r\n\r\n")) >= 0; ) {
      const [, length] = /^content-length: (\d+)/im.exec(bytes.toString("latin1", 0, head));
      const end = head + 4 + Number(length);
      if (bytes.length < end) break;
      yield bytes.toString("utf8", head + 4, end);
      bytes = bytes.subarray(end);
      if (++nRead === requests.length) return;
    }
    if (nSent - nRead < AT_ONCE / 2) send();
  }
}

const where = (job, limit) => `/v1/jobs/${job}/events?format=json&dialect=raw&limit=${limit}`;
const request = (job, place) => `GET ${where(job, 1)} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nLast-Event-ID: ${place}\r\n\r\n`;

async function readAll(job) {
  const all = [];
  for (let place = "0", n = -1; all.length > n; ) {
    n = all.length;
    const page = await server.get(`${where(job, 1000)}&after=${place}`);
    all.push(...page.events);
    place = page.next;
  }
  return all;
}

for (const [i, recording] of recordings.entries()) {
  test(`${recording}: after every event comes the next one`, async () => {
    await until("it has come to rest", async () => RESTS.includes((await server.get(`/v1/jobs/r${i}`)).state));
    const all = await readAll(`r${i}`);
    let k = 0;
    for await (const text of pipelined(all.map((_, place) => request(`r${i}`, place)))) {
      assert.equal(JSON.stringify(JSON.parse(text).events), JSON.stringify([all[k]]), `after ${k}`);
      assert.equal(all[k].data.seq, ++k);
    }
    assert.equal(k, all.length);
  });
}
