// The execution timeline: executions in parallel lanes, and below each the model calls and tools
// inside it.
//
// Zoomed with the wheel (ctrl), the buttons or the keys + - 0, moved by dragging or the arrow
// keys; a bar that is chosen shows its card, the ruler leads to an event.

import { h, redraw, type Child, type VNode } from "../dom";
import { cut, duration, plain } from "../format";
import { notice } from "../page";
import { cardOf, type Run, type State } from "../reducer";
import { inside } from "./cards";
import { Scale, step } from "./scale";

const RULER = 20;
const BAR = 18;
const SUB = 8;
const GAP = 5;
const CHARACTER = 6.6; // its width, about
const END = 6; // left free, for what is marked at the very end

interface Bar {
  run: Run;
  y: number;
  height: number;
}

interface Lane {
  last: Run;
  subs: number;
  bars: { run: Run; inner: { run: Run; sub: number }[] }[];
}

export class Timeline {
  private el: HTMLElement | undefined;
  private width = 800;
  private from = 0; // what is in sight, in parts of the whole
  private to = 1;
  private hover: { run: Run; x: number; y: number } | undefined;
  private drag: { x: number; from: number; to: number; hasMoved: boolean } | undefined;

  constructor(private readonly onRun: (id: string) => void, private readonly onMoment: (ts: number) => void) {}

  private readonly take = (el: Element): void => {
    this.el = el as HTMLElement;
    el.addEventListener("wheel", this.onWheel as EventListener, { passive: false });
    new ResizeObserver(() => {
      this.width = Math.max(200, el.clientWidth);
      redraw();
    }).observe(el);
  };

  // --- what is in sight ---

  private get span(): number {
    return this.width - END;
  }

  private zoom(factor: number, around = 0.5): void {
    const size = Math.min(1, Math.max(0.0005, (this.to - this.from) * factor));
    const middle = this.from + (this.to - this.from) * around;
    this.from = Math.max(0, Math.min(1 - size, middle - size * around));
    this.to = this.from + size;
    redraw();
  }

  private move(by: number): void {
    const size = this.to - this.from;
    this.from = Math.max(0, Math.min(1 - size, this.from + by * size));
    this.to = this.from + size;
    redraw();
  }

  private onKey(e: KeyboardEvent): void {
    if (e.key === "+" || e.key === "=") this.zoom(0.6);
    else if (e.key === "-") this.zoom(1.6);
    else if (e.key === "0") this.fit();
    else if (e.key === "ArrowLeft") this.move(-0.2);
    else if (e.key === "ArrowRight") this.move(0.2);
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  private fit(): void {
    this.from = 0;
    this.to = 1;
    redraw();
  }

  private readonly onWheel = (e: WheelEvent): void => {
    if (!e.ctrlKey && !e.metaKey && !e.shiftKey) return;
    e.preventDefault();
    const box = this.el!.getBoundingClientRect();
    if (e.shiftKey) this.move((e.deltaY || e.deltaX) / this.span);
    else this.zoom(e.deltaY > 0 ? 1.15 : 0.87, Math.min(1, (e.clientX - box.left) / this.span));
  };

  // --- layout ---

  private lanes(s: State): Lane[] {
    const lanes: Lane[] = [];
    for (const id of s.cards) {
      const run = s.runs.get(id)!;
      let lane = lanes.find((l) => isBefore(l.last, run));
      if (!lane) lanes.push((lane = { last: run, subs: 0, bars: [] }));
      lane.last = run;
      const inner = this.inner(s, run);
      lane.subs = Math.max(lane.subs, ...inner.map((i) => i.sub + 1));
      lane.bars.push({ run, inner });
    }
    return lanes;
  }

  private inner(s: State, card: Run): { run: Run; sub: number }[] {
    const out: { run: Run; sub: number }[] = [];
    const last: Run[] = [];
    const walk = (box: Run): void => {
      for (const item of box.items ?? []) {
        if (item.kind !== "run") continue;
        const run = s.runs.get(item.id)!;
        let sub = last.findIndex((before) => isBefore(before, run));
        if (sub < 0) sub = last.length;
        last[sub] = run;
        out.push({ run, sub });
        if (run.items) walk(run);
      }
    };
    walk(card);
    return out;
  }

  // --- drawing ---

  private bar(b: Bar, x: number, width: number, name: string): VNode {
    const { run } = b;
    const from = Math.max(x, 0);
    const fits = Math.floor((Math.min(x + width, this.width) - from - 10) / CHARACTER); // characters
    return h("g", {
      key: run.id, class: `bar ${name} is-${run.status}`,
      onpointerenter: (e: PointerEvent) => this.point(run, e), onpointermove: (e: PointerEvent) => this.point(run, e),
      onpointerleave: () => this.point(undefined),
      onclick: () => {
        if (!this.drag?.hasMoved) this.onRun(run.id);
      },
    },
      h("rect", { x: x.toFixed(1), y: b.y, width: Math.max(2, width).toFixed(1), height: b.height, rx: name === "is-exec" ? 4 : 2 }),
      name === "is-exec" && fits > 2 && h("text", { x: (from + 6).toFixed(1), y: b.y + 13 }, run.name.length <= fits ? plain(run.name) : plain(cut(run.name, fits - 1))));
  }

  private point(run: Run | undefined, e?: PointerEvent): void {
    const box = this.el?.getBoundingClientRect();
    this.hover = run && box && e ? { run, x: e.clientX - box.left, y: e.clientY - box.top } : undefined;
    redraw();
  }

  private tip(s: State, now: number): Child {
    if (!this.hover || !s.runs.has(this.hover.run.id)) return false;
    const run = s.runs.get(this.hover.run.id)!;
    const left = Math.min(this.hover.x + 12, this.width - 230);
    return h("div", { class: "tip", style: { left: `${Math.max(0, left)}px`, top: `${this.hover.y + 16}px` } },
      h("strong", null, plain(run.name)), h("span", { class: "muted" }, ` ${run.kind === "llm" ? run.model ?? "model" : run.kind}`), h("br", null),
      `${duration((run.end ?? now) - run.start)}, ${run.status === "open" ? "running" : run.status}`,
      h("br", null), `begins at ${duration(run.start - s.start)}`,
      run.tokensOut > 0 && [h("br", null), `${run.tokensIn} → ${run.tokensOut} tokens`],
      inside(run) !== "" && [h("br", null), inside(run)],
      run.error && [h("br", null), h("span", { class: "wrong" }, plain(run.error.slice(0, 200)))]);
  }

  view(s: State, now: number, cursor: number | undefined): Child {
    if (s.cards.length === 0) return s.seq > 0 && s.end !== undefined ? notice("info", "Nothing was executed.") : h("p", { class: "muted pad" }, "Nothing runs yet.");
    const scale = new Scale(s, now);
    const whole = scale.length;
    const perMs = this.span / ((this.to - this.from) * whole);
    const x = (ts: number): number => (scale.at(ts) - this.from * whole) * perMs;
    const isIn = (from: number, to: number): boolean => to >= -2 && from <= this.width + 2;
    const bars: Child[] = [];
    let y = RULER + GAP;
    for (const lane of this.lanes(s)) {
      for (const { run, inner } of lane.bars) {
        const [a, b] = [x(run.start), x(run.end ?? now)];
        if (!isIn(a, b)) continue;
        bars.push(this.bar({ run, y, height: BAR }, a, b - a, "is-exec"));
        for (const i of inner) {
          const [c, d] = [x(i.run.start), x(i.run.end ?? now)];
          if (isIn(c, d)) bars.push(this.bar({ run: i.run, y: y + BAR + 2 + i.sub * (SUB + 1), height: SUB }, c, d - c, i.run.isSub ? "is-sub" : `is-${i.run.kind}`));
        }
      }
      y += BAR + 2 + lane.subs * (SUB + 1) + GAP;
    }
    return h("div", { class: "timeline" },
      h("div", { class: "timeline-tools" },
        h("span", { class: "legend", "aria-hidden": "true" }, h("i", { class: "is-exec" }), "execution ", h("i", { class: "is-llm" }), "model ", h("i", { class: "is-tool" }), "tool"),
        h("button", { type: "button", class: "quiet", "aria-label": "Zoom out", onclick: () => this.zoom(1.6) }, "−"),
        h("button", { type: "button", class: "quiet", "aria-label": "Zoom in", onclick: () => this.zoom(0.6) }, "+"),
        h("button", { type: "button", class: "quiet", disabled: this.from === 0 && this.to === 1, onclick: () => this.fit() }, "Fit")),
      h("div", {
        class: "timeline-box", tabindex: "0", role: "group",
        "aria-label": `Execution timeline: ${s.cards.length} executions. Plus and minus zoom, arrows move; the run tree says the same in words.`,
        onkeydown: (e: KeyboardEvent) => this.onKey(e), ref: this.take,
      },
        h("svg", {
          width: this.width, height: y, "aria-hidden": "true",
          onpointerdown: (e: PointerEvent) => (this.drag = { x: e.clientX, from: this.from, to: this.to, hasMoved: false }),
          onpointermove: (e: PointerEvent) => this.onDrag(e),
          onpointerup: (e: PointerEvent) => this.onDrop(e, scale),
        },
          this.ruler(scale, y), scale.pauses.map((p) => this.pause(p.from, p.to, x, y)), bars, this.marks(s, x, y),
          cursor !== undefined && h("line", { class: "cursor", x1: x(cursor).toFixed(1), x2: x(cursor).toFixed(1), y1: 0, y2: y }))),
      this.tip(s, now));
  }

  private onDrag(e: PointerEvent): void {
    if (!this.drag || e.buttons === 0) return;
    const by = (this.drag.x - e.clientX) / this.span;
    if (Math.abs(this.drag.x - e.clientX) > 3) this.drag.hasMoved = true;
    const size = this.drag.to - this.drag.from;
    this.from = Math.max(0, Math.min(1 - size, this.drag.from + by * size));
    this.to = this.from + size;
    redraw();
  }

  private onDrop(e: PointerEvent, scale: Scale): void {
    const box = this.el!.getBoundingClientRect();
    const hasMoved = this.drag?.hasMoved;
    setTimeout(() => (this.drag = undefined)); // a click follows
    if (hasMoved || e.clientY - box.top > RULER) return;
    this.onMoment(scale.ts((this.from + ((e.clientX - box.left) / this.span) * (this.to - this.from)) * scale.length));
  }

  private ruler(scale: Scale, height: number): VNode {
    const length = (this.to - this.from) * scale.length;
    const by = step(length, this.span / 90);
    const lines: Child[] = [];
    for (let t = Math.ceil((this.from * scale.length) / by) * by; t <= this.to * scale.length; t += by) {
      const at = (t - this.from * scale.length) * (this.span / length);
      const label = duration(scale.ts(t) - scale.start, by);
      lines.push(h("line", { key: `l${t}`, x1: at.toFixed(1), x2: at.toFixed(1), y1: RULER - 4, y2: height }));
      if (at + label.length * CHARACTER < this.width) lines.push(h("text", { key: `t${t}`, x: (at + 3).toFixed(1), y: 12 }, label));
    }
    return h("g", { key: "ruler", class: "ruler" }, lines);
  }

  private pause(from: number, to: number, x: (ts: number) => number, height: number): VNode {
    return h("g", { key: `p${from}`, class: "pause" },
      h("rect", { x: x(from).toFixed(1), y: RULER, width: Math.max(1, x(to) - x(from)).toFixed(1), height: height - RULER }),
      h("title", null, `${duration(to - from)} of waiting are left out`));
  }

  private marks(s: State, x: (ts: number) => number, height: number): VNode[] {
    return s.marks.map((m) => h("g", { key: `m${m.seq}`, class: `moment is-${m.kind}` },
      h("line", { x1: x(m.ts).toFixed(1), x2: x(m.ts).toFixed(1), y1: RULER, y2: height }),
      h("circle", { cx: x(m.ts).toFixed(1), cy: RULER, r: 4 }),
      h("title", null, plain(`${m.kind}: ${m.text}`))));
  }
}

// By the order of records: several may have come in one millisecond.
function isBefore(a: Run, b: Run): boolean {
  return a.endSeq > 0 && a.endSeq < b.seq;
}

// Shows the card that has a run.
export function showCard(s: State, id: string): void {
  const run = s.runs.get(id);
  const card = run && cardOf(s, run);
  document.getElementById(`card-${card?.id ?? id}`)?.scrollIntoView({ block: "nearest" });
}
