// The tab's one connection: /v1/stream over a WebSocket, with every job that the page follows and
// the system topic.
//
// It reconnects by itself, each job after its last id, and shows its true status.  After a laptop has
// slept a socket may look open although it is dead.  So after a time without messages it sends a
// request and waits for the answer, and after a jump of the clock it opens a new connection.

import type { Json, JsonObject } from "./record";

export type LightKind = "connecting" | "live" | "catching-up" | "reconnecting" | "gone" | "locked";

export interface Light {
  kind: LightKind;
  why: string;
}

export interface Message {
  job?: string;
  id?: string;
  event: string;
  data: Json;
}

// One job that the page reads, in one dialect.
export interface Following {
  job: string;
  dialect: string;
  modes: string | undefined; // the modes of the dialect, if it has any
  place: string; // the last id
  target: number; // the last record when reading began; up to there it is catching up
  hasEnded: boolean;
  on: (message: Message) => void;
}

const SLICE_MS = 8; // of work at a time, so that the page can draw in between
const TICK_MS = 2000;
const ASLEEP_MS = 15000; // a tick that is so late means that the computer was asleep
const SILENT_MS = 20000;
const ANSWER_MS = 5000;
const MOST_DELAY_MS = 4000;

const CLOSED: { [code: number]: string } = {
  1001: "the server is going down",
  1006: "the connection was cut",
  1008: "the token is good no longer",
  1011: "the server could not go on",
};

type Standing = { state: "on" | "leaving"; by: Following };

export class Link {
  light: Light = { kind: "connecting", why: "" };
  onSystem: (message: Message) => void = () => {};
  onOpen: () => void = () => {}; // also after a gap in the system topic: lists must be read again
  onLight: () => void = () => {};

  private socket: WebSocket | undefined;
  private readonly wanted = new Map<string, Following[]>(); // the last of them is the one that is read
  private readonly standing = new Map<string, Standing>();
  private queue: string[] = [];
  private at = 0; // in the queue
  private readonly channel = new MessageChannel();
  private isDraining = false;
  private failures = 0;
  private timer = 0;
  private lastTick = Date.now();
  private lastWord = Date.now();
  private isAsked = false; // and has not answered yet

  constructor() {
    this.channel.port1.onmessage = () => this.drain();
    setInterval(() => this.tick(), TICK_MS);
    addEventListener("online", () => this.reopen("the network is back"));
    addEventListener("offline", () => this.lose("this computer is offline"));
    document.addEventListener("visibilitychange", () => this.tick());
  }

  // --- what is read ---

  follow(job: string, dialect: string, place: string, on: Following["on"], modes?: string): Following {
    const f: Following = { job, dialect, modes, place, target: 0, hasEnded: false, on };
    const list = this.wanted.get(job);
    if (list) list.push(f);
    else this.wanted.set(job, [f]);
    this.settle(job);
    return f;
  }

  leave(f: Following): void {
    const rest = (this.wanted.get(f.job) ?? []).filter((x) => x !== f);
    if (rest.length > 0) this.wanted.set(f.job, rest);
    else this.wanted.delete(f.job);
    this.settle(f.job);
  }

  private send(message: JsonObject): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  // Brings the server's subscription to a job, of which there is one per job, to what is wanted.
  private settle(job: string): void {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    const f = this.wanted.get(job)?.at(-1);
    const now = this.standing.get(job);
    if (now?.state === "leaving") return; // continues when the server has confirmed it
    if (now && now.by !== f) {
      this.standing.set(job, { state: "leaving", by: now.by });
      this.send({ type: "unsubscribe", job });
    } else if (!now && f && !f.hasEnded) {
      this.standing.set(job, { state: "on", by: f });
      this.send({ type: "subscribe", job, dialect: f.dialect, ...(f.modes ? { modes: f.modes } : {}), after: f.place });
    }
  }

  // --- what comes ---

  private drain(): void {
    const end = performance.now() + SLICE_MS;
    while (this.at < this.queue.length && performance.now() < end) {
      this.take(JSON.parse(this.queue[this.at++]) as Message);
    }
    this.isDraining = this.at < this.queue.length;
    if (this.isDraining) this.channel.port2.postMessage(0);
    else {
      this.queue = [];
      this.at = 0;
    }
    this.say();
  }

  private take(message: Message): void {
    const { job, event } = message;
    if (job === undefined) {
      if (event === "stream.gap") this.onOpen();
      return;
    }
    if (event === "job.state" || event === "interrupt.state") {
      this.onSystem(message);
      return;
    }
    const now = this.standing.get(job);
    if (!now) return;
    const isOver = event === "stream.unsubscribed" || event === "stream.ended" || event === "stream.deleted" || event === "stream.error";
    if (isOver) {
      this.standing.delete(job);
      now.by.hasEnded = event !== "stream.unsubscribed" || now.by.hasEnded;
    }
    if (now.state === "on") {
      if (message.id !== undefined) now.by.place = message.id;
      now.by.on(message);
    }
    if (isOver) this.settle(job);
  }

  // --- the connection ---

  open(): void {
    clearTimeout(this.timer);
    const url = `${location.origin.replace(/^http/, "ws")}/v1/stream?topics=system`;
    const socket = new WebSocket(url);
    let hasOpened = false;
    this.socket = socket;
    socket.onopen = () => {
      hasOpened = true;
      this.failures = 0;
      this.lastWord = Date.now();
      this.standing.clear();
      for (const job of this.wanted.keys()) this.settle(job);
      this.say();
      this.onOpen();
    };
    socket.onmessage = (message) => {
      this.lastWord = Date.now();
      this.isAsked = false;
      this.queue.push(message.data as string);
      if (!this.isDraining) {
        this.isDraining = true;
        this.channel.port2.postMessage(0);
      }
    };
    socket.onclose = (event) => {
      if (this.socket !== socket) return;
      this.lose(event.reason || CLOSED[event.code] || `the connection was closed (${event.code})`, hasOpened);
    };
  }

  // The connection is lost: shows that, and tries again.
  private lose(why: string, wasOpen = true): void {
    this.drop();
    if (this.light.kind === "locked") return;
    if (wasOpen || this.light.kind === "connecting") this.set("reconnecting", why);
    const delay = Math.min(MOST_DELAY_MS, 250 * 2 ** this.failures) * (0.5 + Math.random() / 2);
    this.failures++;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.open(), this.failures === 1 ? 50 : delay);
    if (!wasOpen) void this.ask(why);
  }

  private drop(): void {
    const socket = this.socket;
    this.socket = undefined;
    this.standing.clear();
    this.queue = [];
    this.at = 0;
    socket?.close();
  }

  reopen(why: string): void {
    this.drop();
    this.failures = 0;
    this.set("reconnecting", why);
    this.open();
  }

  lock(): void {
    this.set("locked", "a token is needed");
    clearTimeout(this.timer);
    this.drop();
  }

  // Finds out why no connection can be opened.
  private async ask(why: string): Promise<void> {
    try {
      const answer = await fetch("/v1/session", { signal: AbortSignal.timeout(ANSWER_MS) });
      if (this.socket?.readyState === WebSocket.OPEN) return;
      if (answer.status === 401) this.set("locked", "a token is needed");
      else this.set("reconnecting", why);
    } catch {
      if (this.socket?.readyState !== WebSocket.OPEN) this.set("gone", navigator.onLine ? "the server does not answer" : "this computer is offline");
    }
  }

  private tick(): void {
    const now = Date.now();
    const late = now - this.lastTick;
    this.lastTick = now;
    if (this.light.kind === "locked" || document.hidden) return;
    if (late > ASLEEP_MS && now - this.lastWord > ASLEEP_MS) this.reopen("this computer was asleep");
    else if (this.socket?.readyState === WebSocket.OPEN && now - this.lastWord > SILENT_MS) this.askForWord();
  }

  // Checks the connection by a request over it: it may be dead although the server is up.
  private askForWord(): void {
    const socket = this.socket;
    this.lastWord = Date.now();
    this.isAsked = true;
    this.send({ type: "subscribe", topic: "system" }); // is answered even if we are subscribed
    setTimeout(() => {
      if (this.socket === socket && this.isAsked) this.lose("nothing comes over the connection");
    }, ANSWER_MS);
  }

  // --- the light ---

  private isBehind(): boolean {
    if (this.queue.length - this.at > 200) return true;
    for (const { by } of this.standing.values()) if (!by.hasEnded && parseInt(by.place, 10) < by.target) return true;
    return false;
  }

  private say(): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.set(this.isBehind() ? "catching-up" : "live", "");
  }

  private set(kind: LightKind, why: string): void {
    if (this.light.kind === kind && this.light.why === why) return;
    this.light = { kind, why };
    this.onLight();
  }
}
