// One run, live or as it was at any of its events.

import { api, Refused, type Job } from "../api";
import { now } from "../clock";
import { afterDraw, h, redraw, type Child, type VNode } from "../dom";
import { count, duration, many, plain, show } from "../format";
import { History } from "../history";
import type { Following, Message } from "../link";
import { empty, notice, pill, type Page } from "../page";
import type { JsonObject, Rec } from "../record";
import { isFinal, type Question, type State } from "../reducer";
import { adopt } from "../run/adopt";
import { Cards } from "../run/cards";
import { Events } from "../run/events";
import { Outputs } from "../run/outputs";
import { asked, QuestionForm, type Asked } from "../run/question";
import { Scrubber } from "../run/scrubber";
import { showCard, Timeline } from "../run/timeline";
import { Tree } from "../run/tree";
import { Ui } from "../run/ui";
import type { Store } from "../store";

type Tab = "cards" | "output" | "report" | "artifacts" | "tree" | "events" | "adopt";
const TABS: [Tab, string][] = [
  ["cards", "Agents"], ["output", "Output"], ["report", "Report"], ["artifacts", "Artifacts"], ["tree", "Tree"], ["events", "Events"], ["adopt", "Adopt"],
];
const END_FRAMES = 12;
const UP = new Set(["ArrowUp", "PageUp", "Home"]);
const WIDE = matchMedia("(min-width: 60rem)");

export class RunPage implements Page {
  title: string;
  private history = new History();
  private scrubber = new Scrubber(this.history);
  private following: Following;
  private job: Job | undefined;
  private lost = ""; // why the run cannot be shown
  private error = "";
  private tab: Tab = WIDE.matches ? "output" : "cards";
  private box: HTMLElement | undefined; // of the cards, where it scrolls by itself
  private isAtEnd = true; // until somebody scrolls up
  private settling = 0; // frames for which it goes there
  private top = 0;
  private drawn = 0; // the last event that was gone to
  private readonly ui = new Ui();
  private readonly cards: Cards;
  private readonly tree: Tree;
  private readonly outputs: Outputs;
  private readonly events: Events;
  private readonly timeline: Timeline;
  private readonly forms = new Map<string, QuestionForm>();
  private readonly asked = new Set<string>(); // questions that were open for the server too

  constructor(private readonly store: Store, private readonly id: string, private readonly go: (path: string) => void) {
    this.title = `Run ${id}`;
    this.cards = new Cards(this.ui);
    this.outputs = new Outputs(this.ui);
    this.tree = new Tree(this.ui, (run) => this.show(run));
    this.events = new Events(id, store, (seq) => this.scrubber.go(seq));
    this.timeline = new Timeline((run) => this.show(run), (ts) => this.scrubber.goTo(ts));
    this.following = this.follow();
    void this.look();
  }

  leave(): void {
    this.scrubber.stop();
    this.store.link.leave(this.following);
  }

  key(key: string): boolean {
    const at = this.scrubber.cursor ?? this.history.last;
    if (key === "j") this.scrubber.go(at + 1);
    else if (key === "k") this.scrubber.go(at - 1);
    else if (key === "l") this.scrubber.go(undefined);
    else if (key === "c") this.go("/?new");
    else if (key === "/") {
      this.tab = "events";
      afterDraw(() => document.getElementById("find-event")?.focus());
      redraw();
    } else if (key === "Escape") this.go("/");
    else return false;
    return true;
  }

  // --- records ---

  private follow(): Following {
    return this.store.link.follow(this.id, "raw", String(this.history.last), (message) => this.hear(message));
  }

  private hear(message: Message): void {
    const data = (message.data ?? {}) as JsonObject;
    if (message.id !== undefined) this.take(message.data as unknown as Rec);
    else if (message.event === "stream.error") this.lost = String(data.message ?? "It cannot be read.");
    else if (message.event === "stream.deleted") this.lost = "The run was deleted.";
    else if (message.event === "stream.gap") this.restart();
    else if (message.event === "stream.ended") void this.look();
    redraw();
  }

  private take(rec: Rec): void {
    if (this.history.add(rec) || rec.seq <= this.history.last) return;
    this.store.link.leave(this.following); // something is missing: read it again
    this.following = this.follow();
  }

  // The first records have expired on the server: start again with those that are left.
  private restart(): void {
    this.history = new History();
    this.scrubber = new Scrubber(this.history);
  }

  private async look(): Promise<void> {
    try {
      this.job = await this.store.job(this.id);
      this.following.target = this.job.events;
    } catch (error) {
      if (error instanceof Refused && error.status === 404) this.lost = "There is no such run, or it is not yours to see.";
    }
    redraw();
  }

  private async act(what: (id: string) => Promise<Job>): Promise<void> {
    this.error = "";
    try {
      this.job = await what(this.id);
    } catch (error) {
      this.error = (error as Error).message;
    }
    redraw();
  }

  private show(run: string): void {
    if (!WIDE.matches) this.tab = "cards";
    redraw();
    requestAnimationFrame(() => showCard(this.state(), run));
  }

  private state(): State {
    const { cursor } = this.scrubber;
    return cursor === undefined ? this.history.live : this.history.at(cursor);
  }

  // --- parts ---

  private readonly keepBox = (el: Element): void => {
    this.box = el as HTMLElement;
  };

  // The view follows new events until the user scrolls up.  That is detected by wheel, keys, touch and
  // the scroll bar, not by scroll events: these also come from cards that change their heights.
  private readonly onUp = (e: Event): void => {
    const isUp = e instanceof WheelEvent ? e.deltaY < 0 : e instanceof KeyboardEvent ? UP.has(e.key) : e.type === "touchmove" || e.target === this.box;
    if (!isUp) return;
    this.isAtEnd = false;
    redraw();
  };

  private readonly onScroll = (): void => {
    const el = this.box!;
    // The scroll event of settle() comes a frame later, when the user may have begun to scroll up: then
    // scrollTop has not grown.
    if (el.scrollTop > this.top && el.scrollTop + el.clientHeight >= el.scrollHeight - 8) this.isAtEnd = true;
    this.top = el.scrollTop;
  };

  // Cards get their true heights when they come into sight, so the end moves for some frames.
  private toEnd(): void {
    const isUnderWay = this.settling > 0;
    this.settling = END_FRAMES;
    if (!isUnderWay) this.settle();
  }

  private settle(): void {
    const el = this.box;
    if (!el || !this.isAtEnd || --this.settling <= 0) {
      this.settling = 0;
      return;
    }
    el.scrollTo(0, el.scrollHeight);
    this.top = el.scrollTop;
    requestAnimationFrame(() => this.settle());
  }

  private head(s: State, at: number): VNode {
    const isLive = this.scrubber.cursor === undefined;
    const status = isLive && this.store.rows.get(this.id)?.job.state === "queued" && s.status === "running" ? "queued" : s.status;
    const took = (s.end ?? at) - s.start;
    const worker = this.store.rows.get(this.id)?.job.worker ?? this.job?.worker;
    return h("header", { class: "page-head run-head-box" },
      h("div", { class: "page-title" },
        h("h1", null, h("span", { class: "run-name" }, plain(s.agent || this.job?.agent || "")), " ", h("span", { class: "run-full" }, this.id)),
        h("p", { class: "facts muted" }, pill(status), h("span", null, h("span", s.end === undefined ? { "data-tick": "" } : null, s.start > 0 ? duration(took) : "–")),
          h("span", null, many(s.seq, "event")), s.nLlms > 0 && h("span", null, many(s.nLlms, "model call")), s.nTools > 0 && h("span", null, many(s.nTools, "tool")),
          s.tokensIn + s.tokensOut > 0 && h("span", null, `${count(s.tokensIn)} → ${count(s.tokensOut)} tokens`), s.attempt > 1 && h("span", null, `attempt ${s.attempt}`),
          worker && h("span", { title: "Its worker" }, plain(worker)),
          s.percent !== undefined && s.end === undefined && h("span", null, `${s.percent} %${s.note ? ` ${plain(s.note)}` : ""}`))),
      h("div", { class: "actions" },
        isLive && s.status === "paused" && h("button", { type: "button", onclick: () => void this.act(api.resume) }, "Resume"),
        isLive && (s.status === "running" || s.status === "queued") && h("button", { type: "button", onclick: () => void this.act(api.pause) }, "Pause"),
        isLive && !isFinal(s.status) && h("button", { type: "button", class: "danger", disabled: s.status === "cancelling", onclick: () => void this.act(api.cancel) },
          s.status === "cancelling" ? "Cancelling…" : "Cancel")));
  }

  private questions(s: State): Child[] {
    return s.questions.filter((q) => q.isOpen).map((q) => {
      if (this.scrubber.cursor !== undefined) return past(q, "Waiting for an answer at this event.");
      const open = this.store.interrupts.find((i) => i.job_id === this.id && i.interrupt_id === q.id);
      if (open) this.asked.add(q.id);
      else if (this.asked.has(q.id)) return past(q, "Answered. The run goes on when all of its questions are.");
      const value = (q.value !== null && typeof q.value === "object" && !Array.isArray(q.value) ? q.value : {}) as JsonObject;
      const what: Asked = open ? asked(open) : {
        id: q.id, job: this.id, question: q.question, context: q.context, value: q.value, schema: value.schema as JsonObject | undefined,
        default: value.default, expires: undefined, onExpiry: "fail",
      };
      let form = this.forms.get(q.id);
      if (!form) this.forms.set(q.id, (form = new QuestionForm(what, () => void this.store.askInterrupts())));
      else if (open) form.update(what);
      return form.view();
    });
  }

  private tabs(s: State, tab: Tab): VNode {
    const counts: { [tab: string]: number } = {
      cards: s.cards.length, output: s.sections.length, artifacts: s.todos.length + s.files.length + s.sources.length, events: this.history.last,
    };
    const shown = TABS.filter(([name]) => (name !== "cards" || !WIDE.matches) && (name !== "report" || s.report !== undefined || tab === "report"));
    return h("div", { class: "tabs", role: "tablist", "aria-label": "Views" }, shown.map(([name, label]) =>
      h("button", {
        type: "button", key: name, id: `tab-${name}`, role: "tab", "aria-selected": String(tab === name), "aria-controls": "tab-panel", tabindex: tab === name ? "0" : "-1",
        onclick: () => {
          this.tab = name;
          redraw();
        },
        onkeydown: (e: KeyboardEvent) => {
          const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
          if (by === 0) return;
          e.preventDefault();
          const at = shown.findIndex(([n]) => n === name);
          this.tab = shown[(at + by + shown.length) % shown.length][0];
          redraw();
          requestAnimationFrame(() => document.getElementById(`tab-${this.tab}`)?.focus());
        },
      }, label, counts[name] > 0 && h("span", { class: "count" }, count(counts[name])))));
  }

  private panel(s: State, tab: Tab, at: number): Child {
    switch (tab) {
      case "cards": return h("div", { class: "cards" }, this.cards.view(s, at));
      case "output": return this.outputs.view(s);
      case "report": return this.outputs.report(s);
      case "artifacts": return this.outputs.artifacts(s);
      case "tree": return this.tree.view(s, at);
      case "events": return this.events.view(this.history.last, this.scrubber.cursor);
      case "adopt": return adopt(this.id, s.agent, this.store.isLocked);
    }
  }

  private verdict(s: State): Child {
    if (s.status !== "failed" && s.status !== "cancelled") return false;
    const where = s.cards.filter((id) => s.runs.get(id)!.status === "error").at(-1);
    return h("div", { class: `verdict is-${s.status}`, role: "status" },
      h("div", { class: "verdict-text" }, h("strong", null, s.status === "cancelled" ? "Cancelled" : plain(s.errorType ?? "Failed")), " ", plain(s.error ?? ""),
        s.stderr !== undefined && s.stderr !== s.error && ["\n\n", plain(s.stderr)]),
      where !== undefined && h("button", { type: "button", onclick: () => this.show(where) }, "Show where"));
  }

  view(): Child {
    if (this.lost !== "") return h("div", { class: "page" }, empty("Nothing to see", h("p", null, this.lost), h("p", null, h("a", { href: "#/" }, "All runs"))));
    const s = this.state();
    const isLive = this.scrubber.cursor === undefined;
    const at = isLive && !isFinal(s.status) ? now() : s.ts;
    const tab = WIDE.matches && this.tab === "cards" ? "output" : this.tab;
    const isCaughtUp = this.job !== undefined && s.seq >= this.following.target;
    if (isLive && isCaughtUp && !isFinal(s.status) && s.seq !== this.drawn) {
      this.drawn = s.seq;
      afterDraw(() => this.toEnd());
    }
    return h("div", { class: "page run" },
      this.head(s, at),
      this.error !== "" && notice("error", this.error),
      s.first > 1 && notice("info", `Events before ${s.first} have been removed from the server.`),
      this.verdict(s),
      s.questions.some((q) => q.isOpen) && h("div", { class: "questions" }, this.questions(s)),
      h("section", { class: "time", "aria-label": "Timeline" }, this.timeline.view(s, at, isLive ? undefined : s.ts), this.scrubber.view()),
      h("div", { class: "split" },
        WIDE.matches && h("section", { class: "column", "aria-label": "Agents" }, h("h2", { class: "column-title" }, "Agents ", h("span", { class: "count" }, s.cards.length)),
          s.cards.length === 0 && h("p", { class: "muted pad" }, s.seq === 0 ? "Reading…" : "Waiting for a worker."), h("div", { class: `cards${this.isAtEnd ? " is-followed" : ""}`, ref: this.keepBox, onscroll: this.onScroll, onwheel: this.onUp, onkeydown: this.onUp, ontouchmove: this.onUp, onpointerdown: this.onUp }, this.cards.view(s, at))),
        h("section", { class: "column side", "aria-label": "Details" }, this.tabs(s, tab),
          h("div", { id: "tab-panel", key: tab, class: "tab-panel", role: "tabpanel", "aria-labelledby": `tab-${tab}` }, this.panel(s, tab, at)))));
  }
}

// A question without a form: it is answered, or the page shows an earlier event.
function past(q: Question, why: string): VNode {
  return h("section", { key: q.id, class: "question is-past" }, h("h2", null, plain(show(q.question))), h("p", { class: "muted" }, why));
}
