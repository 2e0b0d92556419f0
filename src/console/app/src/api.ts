// Requests to the server that the page came from.

import { setClock } from "./clock";
import type { Json, JsonObject } from "./record";

export interface Job {
  job_id: string;
  agent: string;
  owner: string | null;
  state: string;
  outcome: string | null;
  error: string | null;
  error_type: string | null;
  attempt: number;
  worker: string | null;
  cancel_requested: boolean;
  events: number;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  expired: boolean;
}

export interface Interrupt {
  interrupt_id: string;
  job_id: string;
  agent: string;
  question: Json;
  context: Json;
  value: Json;
  schema?: JsonObject;
  default?: Json;
  asked_at: string;
  expires_at: string | null;
  on_expiry: string;
}

export interface Agent {
  agent_type: string;
  description: string | null;
}

export interface AgentState {
  agent: string;
  kind: string;
  queued: number;
  leased: number;
  broken_workers: number; // that cannot work for it
  error: string | null; // the newest reason
}

export interface Worker {
  worker: string | null;
  agents: string[];
  job_id: string | null; // null: the worker waits for a job
  attempt: number | null;
  lease_until: string | null;
  seen_at: string;
}

export interface Gateway {
  id: string;
  url: string;
  version: string;
  started_at: string;
  writes: boolean;
  shards: number[];
}

export interface Webhook {
  id: string; // that of its run
  thread_id: string;
  url: string;
  state: string;
  attempts: number;
  tried_at: string | null;
  due_at: string | null; // null: it is not pending
  reason: string | null; // why the last attempt failed
}

export interface Session {
  name: string | null;
  scope: string;
  owner: string | null;
  cookie: boolean;
}

export class Refused extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

let onLocked: () => void = () => {};

// @f is called when the server requires a token.
export function whenLocked(f: () => void): void {
  onLocked = f;
}

async function send(method: string, path: string, body?: unknown, headers: { [name: string]: string } = {}): Promise<Response> {
  const options: RequestInit = { method, headers: { ...headers } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    (options.headers as { [name: string]: string })["Content-Type"] = "application/json";
  }
  const answer = await fetch(path, options);
  setClock(answer.headers.get("Date"));
  if (answer.ok) return answer;
  const text = await answer.text();
  let words = `${answer.status} ${answer.statusText}`;
  try {
    const problem = JSON.parse(text);
    words = problem.detail ?? problem.title ?? words;
  } catch {
    if (text !== "") words = text.slice(0, 500);
  }
  if (answer.status === 401 && !("Authorization" in headers)) onLocked();
  throw new Refused(answer.status, words);
}

async function json<T>(method: string, path: string, body?: unknown, headers?: { [name: string]: string }): Promise<T> {
  return (await (await send(method, path, body, headers)).json()) as T;
}

export function jobPath(id: string, rest = ""): string {
  return `/v1/jobs/${encodeURIComponent(id)}${rest}`;
}

export const api = {
  jobs: (limit: number, after?: string) =>
    json<{ jobs: Job[]; next: string | null }>("GET", `/v1/jobs?limit=${limit}${after ? `&after=${after}` : ""}`),
  workers: () => json<{ workers: Worker[] }>("GET", "/v1/workers"),
  // None if the database is not shared.
  gateways: () => json<{ id: string | null; gateways: Gateway[] }>("GET", "/v1/gateways"),
  webhooks: (limit: number, state?: string) =>
    json<{ webhooks: Webhook[]; next: string | null }>("GET", `/v1/webhooks?limit=${limit}${state ? `&state=${state}` : ""}`),
  resendWebhook: (id: string) => json<Webhook>("POST", `/v1/webhooks/${encodeURIComponent(id)}/resend`),
  job: (id: string) => json<Job>("GET", jobPath(id)),
  submit: (body: JsonObject) => json<Job>("POST", "/v1/jobs", body),
  cancel: (id: string) => json<Job>("POST", jobPath(id, "/cancel")),
  pause: (id: string) => json<Job>("POST", jobPath(id, "/pause"), {}),
  resume: (id: string) => json<Job>("POST", jobPath(id, "/resume"), {}),
  answer: (id: string, interrupt: string, value: Json) =>
    json<Job>("POST", jobPath(id, "/answer"), { interrupt_id: interrupt, value }),
  interrupts: (job?: string) =>
    json<{ interrupts: Interrupt[] }>("GET", `/v1/interrupts?limit=1000${job ? `&job=${encodeURIComponent(job)}` : ""}`),
  agents: () => json<{ agents: Agent[] }>("GET", "/v1/jobs/async/agents"),
  agentStates: () => json<{ agents: AgentState[] }>("GET", "/v1/agents"),
  dialects: () => json<{ dialects: { name: string; about: string }[] }>("GET", "/v1/dialects"),
  session: () => json<Session>("GET", "/v1/session"),
  login: (token: string) => send("POST", "/v1/session", undefined, { Authorization: `Bearer ${token}` }),
  logout: () => send("DELETE", "/v1/session"),
  metrics: async () => (await send("GET", "/metrics")).text(),
  events: (id: string, dialect: string, after: string, limit: number) =>
    json<{ events: { id?: string; event: string; data: Json }[]; next: string; ended: boolean }>(
      "GET", jobPath(id, `/events?format=json&dialect=${dialect}&after=${after}&limit=${limit}`)),
};
