// Any event of the run: dragged to, stepped to, or played to in the time that it took.

import { h, redraw, type VNode } from "../dom";
import { clock, count } from "../format";
import type { History } from "../history";

const SPEEDS = [1, 4, 16];
const MOST_WAIT = 1000; // of a wait between two events that is played

export class Scrubber {
  cursor: number | undefined; // undefined: as it is now
  private speed = 0; // 0: not playing
  private lastFrame = 0;
  private credit = 0; // milliseconds of the run that are due

  constructor(private readonly history: History) {}

  go(seq: number | undefined): void {
    this.speed = 0;
    this.set(seq);
  }

  private set(seq: number | undefined): void {
    const { first, last } = this.history;
    this.cursor = seq === undefined ? undefined : Math.max(first, Math.min(last, seq));
    redraw();
  }

  // The last event up to a moment.
  goTo(ts: number): void {
    const { records } = this.history;
    let low = 0;
    let high = records.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (records[middle].ts <= ts) low = middle + 1;
      else high = middle;
    }
    this.go(records[Math.max(0, low - 1)]?.seq);
  }

  play(speed: number): void {
    if (this.cursor === undefined || this.cursor >= this.history.last) this.cursor = this.history.first;
    this.speed = this.speed === speed ? 0 : speed;
    this.credit = 0;
    this.lastFrame = performance.now();
    if (this.speed > 0) requestAnimationFrame((t) => this.frame(t));
    redraw();
  }

  stop(): void {
    this.speed = 0;
  }

  private frame(t: number): void {
    if (this.speed === 0) return;
    const { records, first } = this.history;
    this.credit += (t - this.lastFrame) * this.speed;
    this.lastFrame = t;
    let at = this.cursor! - first;
    while (at + 1 < records.length) {
      const wait = Math.min(MOST_WAIT, records[at + 1].ts - records[at].ts);
      if (wait > this.credit) break;
      this.credit -= wait;
      at++;
    }
    this.cursor = first + at;
    if (at + 1 >= records.length) this.speed = 0;
    else requestAnimationFrame((next) => this.frame(next));
    redraw();
  }

  view(): VNode {
    const { first, last, records } = this.history;
    const at = this.cursor ?? last;
    const rec = records[at - first];
    const words = rec ? `event ${count(at)} of ${count(last)}, ${clock(rec.ts)}, ${rec.kind}` : "no events yet";
    return h("div", { class: "scrubber", role: "group", "aria-label": "Scrubber" },
      h("button", { type: "button", class: "quiet", "aria-label": "One event back", disabled: at <= first, onclick: () => this.go(at - 1) }, "‹"),
      h("button", { type: "button", class: "quiet", "aria-label": "One event on", disabled: at >= last, onclick: () => this.go(at + 1) }, "›"),
      h("input", {
        type: "range", min: first, max: Math.max(first, last), step: 1, value: String(at), "aria-label": "Event", "aria-valuetext": words, disabled: records.length === 0,
        oninput: (e: Event) => this.go(Number((e.target as HTMLInputElement).value)),
      }),
      h("span", { class: "scrub-words" }, words),
      h("span", { class: "segments", role: "group", "aria-label": "Play" }, SPEEDS.map((s) =>
        h("button", { type: "button", key: s, "aria-pressed": this.speed === s ? "true" : "false", "aria-label": `Play at ${s} times the speed`, disabled: records.length === 0, onclick: () => this.play(s) }, `${s}×`))),
      h("button", { type: "button", class: `quiet live${this.cursor === undefined ? " is-on" : ""}`, "aria-pressed": this.cursor === undefined ? "true" : "false", onclick: () => this.go(undefined) }, "Latest"));
  }
}
