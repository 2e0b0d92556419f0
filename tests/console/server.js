// A server of our own, and workers that we play ourselves.

import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const WAIT_MS = 30000; // a deadline

export async function until(what, condition, ms = WAIT_MS) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await pause(20);
  }
}

export class Server {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "spoolwire-console-"));
  port = 0;
  process = undefined;

  constructor(...flags) {
    this.flags = flags;
    fs.writeFileSync(path.join(this.folder, "spoolwire.yaml"), "agents:\n  pull: {pull: true, description: Played by the test}\n");
  }

  async start() {
    const log = path.join(this.folder, "log");
    const out = fs.openSync(log, "w");
    this.process = spawn(process.env.SPOOLWIRE, ["serve", "--config", path.join(this.folder, "spoolwire.yaml"), "--data", path.join(this.folder, "x.db"),
      "--listen", `127.0.0.1:${this.port}`, "--shutdown-window", "1s", ...this.flags], { stdio: ["ignore", out, out] });
    fs.closeSync(out);
    const said = await until("the server listens", () => /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(fs.readFileSync(log, "utf8")));
    this.port = Number(said[1]);
    return this;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  async stop(signal = "SIGTERM") {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill(signal);
    await ended;
  }

  async close() {
    await this.stop("SIGKILL");
    fs.rmSync(this.folder, { recursive: true });
  }

  async ask(method, where, body, headers = {}) {
    const answer = await fetch(this.url + where, { method, headers, body: body === undefined || typeof body === "string" ? body : JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${where}: ${answer.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  async submit(agent, input, id) {
    return (await this.ask("POST", "/v1/jobs", { agent, input, job_id: id })).job_id;
  }

  async untilState(id, ...states) {
    return until(`${id} is ${states}`, async () => states.includes((await this.ask("GET", `/v1/jobs/${id}`)).state));
  }

  async lease(name = "w1") {
    const order = await this.ask("POST", "/v1/worker/lease", { agents: ["pull"], worker: name, wait: 20 });
    return new Lease(this, order);
  }
}

class Lease {
  constructor(server, order) {
    Object.assign(this, { server, order });
  }

  path(what) {
    return `/v1/worker/jobs/${this.order.job}/${what}?lease=${this.order.lease}`;
  }

  // Objects, or the lines themselves.
  async send(...events) {
    const lines = events.map((e) => (typeof e === "string" ? e : JSON.stringify(e))).join("\n");
    return this.server.ask("POST", this.path("events"), `${lines}\n`, { "Content-Type": "application/x-ndjson" });
  }

  async finish(status = "success", more = {}) {
    return this.server.ask("POST", this.path("finish"), { status, ...more });
  }
}

// A job that a recording is the run of.
export async function play(server, recording, id) {
  await server.submit("pull", {}, id);
  const lease = await server.lease();
  await lease.send(fs.readFileSync(path.join(process.env.RECORDINGS, recording), "utf8").trimEnd());
  return lease;
}

// --- events, as astream_events has them ---

export function event(kind, name, run, parents, data, node) {
  const meta = node ? { langgraph_node: node, langgraph_step: 1, langgraph_checkpoint_ns: `${node}:${parents[1] ?? run}` } : {};
  return { event: kind, name, run_id: run, parent_ids: parents, tags: name === node ? ["graph:step:1"] : [], metadata: meta, data };
}

export const graph = {
  start: () => event("on_chain_start", "LangGraph", "root", [], { input: { issue: "x" } }),
  end: () => event("on_chain_end", "LangGraph", "root", [], { output: {} }),
  node: (node, run) => event("on_chain_start", node, run, ["root"], { input: {} }, node),
  nodeEnd: (node, run) => event("on_chain_end", node, run, ["root"], { output: {} }, node),
  model: (node, run, model) => event("on_chat_model_start", "Chat", model, ["root", run], { input: { messages: [[]] } }, node),
  token: (node, run, model, text) => event("on_chat_model_stream", "Chat", model, ["root", run],
    { chunk: { content: text, type: "AIMessageChunk", id: `m-${model}`, additional_kwargs: {}, response_metadata: {} } }, node),
  modelEnd: (node, run, model, text) => event("on_chat_model_end", "Chat", model, ["root", run],
    { output: { content: text, type: "ai", id: `m-${model}`, additional_kwargs: {}, response_metadata: {} } }, node),
};
