// Where a moment is on the timeline: time, without the long stretches in which nothing runs.

import type { State } from "../reducer";

const LONG = 3000; // a stretch that is worth leaving out
const LEFT = 400; // of it

export interface Pause {
  from: number;
  to: number;
}

export class Scale {
  readonly pauses: Pause[] = [];
  readonly start: number;
  readonly end: number;

  constructor(s: State, now: number) {
    this.start = s.start;
    let isOpen = false;
    let busy = s.start;
    const runs = s.cards.map((id) => s.runs.get(id)!).sort((a, b) => a.start - b.start);
    for (const run of runs) {
      if (run.start - busy > LONG) this.pauses.push({ from: busy, to: run.start });
      if (run.end === undefined) isOpen = true;
      busy = Math.max(busy, run.end ?? now);
    }
    const last = isOpen ? Math.max(now, s.ts) : s.ts;
    if (!isOpen && last - busy > LONG) this.pauses.push({ from: busy, to: last });
    this.end = Math.max(last, s.start + 1);
  }

  // Milliseconds from the start, as drawn.
  at(ts: number): number {
    let x = ts - this.start;
    for (const p of this.pauses) {
      if (ts >= p.to) x -= p.to - p.from - LEFT;
      else if (ts > p.from) x -= (ts - p.from) * (1 - LEFT / (p.to - p.from));
    }
    return x;
  }

  get length(): number {
    return Math.max(1, this.at(this.end));
  }

  // The moment that is drawn there.
  ts(x: number): number {
    let ts = this.start + x;
    for (const p of this.pauses) {
      const from = this.at(p.from);
      if (x >= from + LEFT) ts += p.to - p.from - LEFT;
      else if (x > from) return p.from + ((x - from) / LEFT) * (p.to - p.from);
    }
    return ts;
  }
}

// A round distance between lines, of which about @n fit into @length.
export function step(length: number, n: number): number {
  const rough = length / n;
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 0.001)));
  return [1, 2, 5, 10].map((f) => f * power).find((f) => f >= rough)!;
}
