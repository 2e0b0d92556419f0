// The log: what a client gets, in any dialect, and the command that gets the same.
//
// Events are read from the server by the page, a page of them at a time as somebody scrolls; that
// there are new ones is known from the run's own stream.

import { api, jobPath } from "../api";
import { h, redraw, type Child } from "../dom";
import { clock, cut, plain, show } from "../format";
import { VirtualList } from "../list";
import { copyButton, notice } from "../page";
import type { Json, JsonObject } from "../record";
import type { Store } from "../store";
import { curl } from "./adopt";

const PAGE = 500;
const PREVIEW = 300;

interface Line {
  id: string;
  after: string; // the id before it: where it is read from again
  event: string;
  at: string;
  text: string;
}

interface Found {
  lines: Line[];
  words: string;
  n: number; // in so many lines
}

const NOTHING: Found = { lines: [], words: "", n: 0 };

function lineHeight(): number {
  return Math.round(1.7 * parseFloat(getComputedStyle(document.documentElement).fontSize));
}

function moment(data: Json): string {
  const d = (data ?? {}) as JsonObject;
  const at = typeof d.ts === "number" ? d.ts : typeof d.timestamp === "string" ? Date.parse(d.timestamp) : NaN;
  return Number.isNaN(at) ? "" : clock(at);
}

export class Events {
  private dialect = "agent";
  private names = [this.dialect]; // until the server has said which there are
  private lines: Line[] = [];
  private place = "0";
  private hasAll = false;
  private isReading = false;
  private error = "";
  private chosen: Line | undefined;
  private data: Json | undefined;
  private follows = false;
  private words = ""; // that are looked for
  private found = NOTHING;
  private list = new VirtualList();

  constructor(private readonly job: string, private readonly store: Store, private readonly onEvent: (seq: number) => void) {
    api.dialects().then((d) => (this.names = d.dialects.map((x) => x.name)), () => {}).finally(redraw);
  }

  private choose(dialect: string): void {
    this.dialect = dialect;
    this.lines = [];
    this.place = "0";
    this.hasAll = false;
    this.found = NOTHING;
    this.chosen = this.data = undefined;
    this.list = new VirtualList(this.follows);
    redraw();
  }

  private async read(): Promise<void> {
    const { dialect } = this;
    if (this.isReading) return;
    this.isReading = true;
    try {
      const page = await api.events(this.job, dialect, this.place, PAGE);
      if (dialect === this.dialect) {
        for (const e of page.events) {
          this.lines.push({ id: e.id ?? "", after: this.place, event: e.event, at: moment(e.data), text: JSON.stringify(e.data) });
          if (e.id) this.place = e.id;
        }
        this.place = page.next;
        this.hasAll = page.ended;
        this.error = "";
      }
    } catch (error) {
      this.error = (error as Error).message;
    }
    this.isReading = false;
    redraw();
  }

  private async look(line: Line): Promise<void> {
    this.chosen = line;
    this.data = undefined;
    redraw();
    try {
      const page = await api.events(this.job, this.dialect, line.after, 1);
      if (this.chosen === line) this.data = page.events[0]?.data;
    } catch (error) {
      this.error = (error as Error).message;
    }
    redraw();
  }

  private find(): Line[] {
    const words = this.words.trim().toLowerCase();
    if (this.found.words !== words) this.found = { lines: [], words, n: 0 };
    for (; this.found.n < this.lines.length; this.found.n++) {
      const line = this.lines[this.found.n];
      const text = `${line.event} ${line.text}`.toLowerCase();
      if (words.split(/\s+/).every((word) => text.includes(word))) this.found.lines.push(line);
    }
    return this.found.lines;
  }

  curl(): string {
    return curl(jobPath(this.job, `/events?dialect=${this.dialect}`), this.store.isLocked);
  }

  // @last: the last record that there is.
  view(last: number, cursor: number | undefined): Child {
    const isBehind = !this.hasAll && parseInt(this.place, 10) < last;
    const lines = this.words.trim() === "" ? this.lines : this.find();
    const hasTime = lines.some((line) => line.at !== "");
    if (isBehind && !this.isReading && this.error === "" && (this.follows || this.list.last >= lines.length - 50)) queueMicrotask(() => void this.read());
    const { chosen } = this;
    return h("div", { class: "events" },
      h("div", { class: "toolbar" },
        h("label", { class: "inline" }, "Dialect ", h("select", { value: this.dialect, onchange: (e: Event) => this.choose((e.target as HTMLSelectElement).value) },
          this.names.map((name) => h("option", { key: name, value: name }, name)))),
        h("input", {
          id: "find-event", type: "search", placeholder: "Search events", "aria-label": "Search events", value: this.words,
          oninput: (e: Event) => {
            this.words = (e.target as HTMLInputElement).value;
            redraw();
          },
        }),
        h("label", { class: "inline" }, h("input", {
          type: "checkbox", checked: this.follows,
          onchange: (e: Event) => {
            this.follows = (e.target as HTMLInputElement).checked;
            this.list = new VirtualList(this.follows);
            redraw();
          },
        }), "Follow"),
        h("span", { class: "muted" }, `${lines.length}${isBehind ? " so far" : ""}`),
        copyButton(() => this.curl(), "Copy as curl")),
      this.error !== "" && notice("error", this.error),
      lines.length === 0 && !isBehind && h("p", { class: "muted pad" }, this.words === "" ? "No events in this dialect yet." : "No event has these words."),
      this.list.view({ key: `${this.dialect}${this.follows}`, class: "log", role: "list", "aria-label": `Events in the dialect ${this.dialect}`, tabindex: "0" }, lines.length, lineHeight(), (i) => {
        const line = lines[i];
        const isPast = cursor !== undefined && parseInt(line.id, 10) > cursor;
        return h("div", { key: i, class: `log-line${line === chosen ? " is-chosen" : ""}${isPast ? " is-later" : ""}`, role: "listitem" },
          h("button", { type: "button", class: "log-button", onclick: () => void this.look(line) },
            h("span", { class: "log-id" }, line.id), hasTime && h("span", { class: "log-at" }, line.at), h("span", { class: "log-event" }, line.event), h("span", { class: "log-data" }, plain(cut(line.text, PREVIEW)))));
      }),
      chosen && h("div", { class: "log-detail" },
        h("div", { class: "toolbar" }, h("strong", null, `${chosen.event} ${chosen.id}`),
          chosen.id !== "" && h("button", { type: "button", class: "quiet", onclick: () => this.onEvent(parseInt(chosen.id, 10)) }, "Show the run as it was here"),
          copyButton(() => show(this.data ?? null)),
          h("button", {
            type: "button", class: "quiet", onclick: () => {
              this.chosen = undefined;
              redraw();
            },
          }, "Close")),
        h("pre", { tabindex: "0" }, this.data === undefined ? "…" : plain(show(this.data)))));
  }
}
