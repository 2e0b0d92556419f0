// What all pages know: the jobs, the open questions, the agents, and the connection.
//
// Lists are read once when the connection opens (and again after it was lost), then kept true
// by the system topic.  Messages of the topic that come while an answer is on its way may be newer than
// the answer, so they are applied again after it.

import { api, Refused, whenLocked, type Agent, type Interrupt, type Job, type Session } from "./api";
import { redraw } from "./dom";
import { Link, type Following, type Message } from "./link";
import type { JsonObject } from "./record";
import { isFinal } from "./reducer";

export interface Row {
  job: Job;
  created: number;
  doing: string; // what happened last
  percent?: number; // how far it is, where it tells
  note?: string;
  meter?: string; // the node that told
}

const PAGE = 200;
const SOME = 1000; // records back from which a row learns what its run is doing

export class Store {
  readonly link = new Link();
  readonly rows = new Map<string, Row>();
  order: Row[] = []; // newest first
  next: string | null = null; // where older ones begin
  hasJobs = false;
  interrupts: Interrupt[] = [];
  agents: Agent[] = [];
  session: Session | undefined;
  error = "";
  private readonly followed = new Map<string, Following>();
  private readonly stale = new Set<string>();
  private isLooking = false;
  private readonly meanwhile = new Set<Message[]>(); // what was heard, for each answer on its way
  private nAsked = 0; // requests for the open questions, and the last whose answer was taken
  private nTaken = 0;

  constructor() {
    this.link.onOpen = () => void this.refresh();
    this.link.onSystem = (message) => this.hear(message);
    this.link.onLight = redraw;
    whenLocked(() => this.link.lock());
  }

  async start(): Promise<void> {
    try {
      this.session = await api.session();
      this.link.open();
    } catch (error) {
      if (!(error instanceof Refused && error.status === 401)) this.link.open(); // which tells why not
    }
    redraw();
  }

  async login(token: string): Promise<void> {
    await api.login(token);
    this.session = await api.session();
    this.link.light = { kind: "connecting", why: "" };
    this.link.open();
    redraw();
  }

  async logout(): Promise<void> {
    await api.logout();
    location.reload();
  }

  // Whether others need a token too.
  get isLocked(): boolean {
    return this.session?.cookie === true;
  }

  // --- lists ---

  private async refresh(): Promise<void> {
    const n = ++this.nAsked;
    try {
      await this.read(Promise.all([api.jobs(PAGE), api.interrupts(), api.agents()]), ([{ jobs, next }, { interrupts }, { agents }]) => {
        this.putAll(jobs);
        if (!this.hasJobs) this.next = next;
        this.hasJobs = true;
        this.putInterrupts(interrupts, n);
        this.agents = agents;
        this.error = "";
      });
    } catch (error) {
      this.error = (error as Error).message;
    }
    this.sort();
  }

  // A known job that is newer than the oldest of them, and not among them, was deleted.
  private putAll(jobs: Job[]): void {
    const seen = new Set(jobs.map((j) => j.job_id));
    const oldest = jobs.at(-1)?.created_at ?? "";
    for (const [id, row] of this.rows) {
      if (seen.has(id) || row.job.created_at < oldest) continue;
      this.rows.delete(id);
      this.unfollow(id);
    }
    for (const job of jobs) this.put(job);
  }

  private async read<T>(question: Promise<T>, take: (answer: T) => void): Promise<void> {
    const meanwhile: Message[] = [];
    this.meanwhile.add(meanwhile);
    try {
      take(await question);
    } finally {
      this.meanwhile.delete(meanwhile);
    }
    for (const message of meanwhile) this.heed(message);
  }

  async more(): Promise<void> {
    const from = this.next;
    if (from === null) return;
    this.next = null;
    try {
      await this.read(api.jobs(PAGE, from), (page) => {
        for (const job of page.jobs) this.put(job);
        this.next = page.next;
      });
    } catch {
      this.next = from;
    }
    this.sort();
  }

  put(job: Job): Row {
    let row = this.rows.get(job.job_id);
    if (row) row.job = job;
    else this.rows.set(job.job_id, (row = { job, created: Date.parse(job.created_at), doing: "" }));
    if (isFinal(job.state)) this.unfollow(job.job_id);
    return row;
  }

  private sort(): void {
    this.order = [...this.rows.values()].sort((a, b) => b.created - a.created || (a.job.job_id < b.job.job_id ? 1 : -1));
    redraw();
  }

  // --- the system topic ---

  private hear(message: Message): void {
    for (const list of this.meanwhile) list.push(message);
    this.heed(message);
  }

  private heed(message: Message): void {
    const data = message.data as JsonObject;
    const id = message.job!;
    if (message.event !== "job.state") {
      void this.askInterrupts();
      return;
    }
    const state = String(data.state);
    const at = String(data.timestamp);
    const row = this.rows.get(id);
    if (state === "deleted") {
      this.rows.delete(id);
      this.unfollow(id);
      this.sort();
      return;
    }
    if (state === "waiting" || row?.job.state === "waiting") void this.askInterrupts();
    const before: Job = row?.job ?? {
      job_id: id, agent: String(data.agent), owner: null, state, outcome: null, error: null, error_type: null, attempt: 0,
      worker: null, cancel_requested: false, events: 0, created_at: at, started_at: null, finished_at: null, expired: false,
    };
    this.put({
      ...before,
      state,
      attempt: Number(data.attempt),
      started_at: before.started_at ?? (state === "running" ? at : null),
      finished_at: isFinal(state) ? at : null,
    });
    if (isFinal(state) || state === "waiting") this.look(id);
    if (row) redraw();
    else this.sort();
  }

  // The numbers of a job that has come to rest; many at once are asked for one after another.
  private look(id: string): void {
    this.stale.add(id);
    if (this.isLooking) return;
    this.isLooking = true;
    setTimeout(() => void this.lookAll(), 50);
  }

  private async lookAll(): Promise<void> {
    for (const id of this.stale) {
      this.stale.delete(id); // before it is asked for: what is heard meanwhile may add it again
      try {
        if (this.rows.has(id)) await this.job(id);
      } catch {
        // It is gone, or will be asked for again after a reconnect.
      }
      redraw();
    }
    this.isLooking = false;
  }

  async job(id: string): Promise<Job> {
    const question = api.job(id);
    await this.read(question, (job) => this.put(job));
    return question;
  }

  async askInterrupts(): Promise<void> {
    const n = ++this.nAsked;
    try {
      this.putInterrupts((await api.interrupts()).interrupts, n);
    } catch {
      // The list stays as it was; a reconnect reads it anew.
    }
    redraw();
  }

  private putInterrupts(interrupts: Interrupt[], n: number): void {
    if (n < this.nTaken) return; // a later answer overtook it
    this.nTaken = n;
    this.interrupts = interrupts;
  }

  // --- what rows in sight are doing ---

  // Exactly these jobs are followed for the list.
  followRows(ids: string[]): void {
    const wanted = new Set(ids);
    for (const id of [...this.followed.keys()]) if (!wanted.has(id)) this.unfollow(id);
    for (const id of ids) {
      const row = this.rows.get(id);
      if (!row || this.followed.has(id)) continue;
      this.followed.set(id, this.link.follow(id, "nodes", String(Math.max(0, row.job.events - SOME)), (m) => this.hearNode(row, m), "events"));
    }
  }

  private unfollow(id: string): void {
    const f = this.followed.get(id);
    if (f) this.link.leave(f);
    this.followed.delete(id);
  }

  private hearNode(row: Row, message: Message): void {
    const data = (message.data ?? {}) as JsonObject;
    if (message.id !== undefined) row.job.events = Math.max(row.job.events, parseInt(message.id, 10));
    if (message.event === "node.start") row.doing = String(data.node);
    else if (message.event === "tool.start") row.doing = `${data.node ?? ""} › ${data.tool}`;
    else if (message.event === "progress" && typeof data.percent === "number") {
      row.percent = data.percent;
      row.note = typeof data.message === "string" ? data.message : undefined;
      row.meter = String(data.node);
    } else if (message.event === "node.end" && String(data.node) === row.meter) row.percent = row.note = row.meter = undefined;
    redraw();
  }
}
