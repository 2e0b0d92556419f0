// The run tree: every run, what it called, and what that came to.

import { afterDraw, h, redraw, type Child } from "../dom";
import { duration, plain } from "../format";
import { VirtualList } from "../list";
import type { Run, State } from "../reducer";
import { inside, stat } from "./cards";
import type { Ui } from "./ui";

interface Row {
  run: Run;
  level: number;
  isOpen: boolean;
}

function treeRow(): number {
  return Math.round(1.9 * parseFloat(getComputedStyle(document.documentElement).fontSize));
}

export class Tree {
  private readonly list = new VirtualList();
  private chosen = "";

  constructor(private readonly ui: Ui, private readonly onRun: (id: string) => void) {}

  private rows(s: State): Row[] {
    const rows: Row[] = [];
    const walk = (id: string, level: number): void => {
      const run = s.runs.get(id)!;
      const isOpen = run.children.length > 0 && this.ui.is(`tree:${id}`, level < 2);
      rows.push({ run, level, isOpen });
      if (isOpen) for (const child of run.children) walk(child, level + 1);
    };
    for (const id of s.roots) walk(id, 0);
    return rows;
  }

  private onKey(e: KeyboardEvent, rows: Row[]): void {
    const at = Math.max(0, rows.findIndex((r) => r.run.id === this.chosen));
    const row = rows[at];
    let next = at;
    if (e.key === "ArrowDown") next = at + 1;
    else if (e.key === "ArrowUp") next = at - 1;
    else if (e.key === "Home") next = 0;
    else if (e.key === "End") next = rows.length - 1;
    else if (e.key === "ArrowRight" && row) this.ui.set(`tree:${row.run.id}`, true);
    else if (e.key === "ArrowLeft" && row?.isOpen) this.ui.set(`tree:${row.run.id}`, false);
    else if (e.key === "ArrowLeft" && row?.run.parent) next = rows.findIndex((r) => r.run.id === row.run.parent);
    else if (e.key === "Enter" && row) this.onRun(row.run.id);
    else return;
    e.preventDefault();
    e.stopPropagation();
    next = Math.max(0, Math.min(rows.length - 1, next));
    this.chosen = rows[next]?.run.id ?? "";
    this.list.show(next, treeRow());
    afterDraw(() => document.querySelector<HTMLElement>('.tree-row[tabindex="0"]')?.focus());
    redraw();
  }

  view(s: State, now: number): Child {
    const rows = this.rows(s);
    if (rows.length === 0) return h("p", { class: "muted pad" }, "No runs yet.");
    const chosen = rows.some((r) => r.run.id === this.chosen) ? this.chosen : rows[0].run.id;
    return this.list.view({ class: "tree", role: "tree", "aria-label": "Run tree", onkeydown: (e: KeyboardEvent) => this.onKey(e, rows) }, rows.length, treeRow(), (i) => {
      const { run, level, isOpen } = rows[i];
      return h("div", {
        key: run.id, class: `tree-row is-${run.status}`, role: "treeitem", "aria-level": level + 1, "aria-expanded": run.children.length > 0 ? String(isOpen) : null,
        "aria-selected": String(run.id === chosen), tabindex: run.id === chosen ? "0" : "-1", style: { "padding-left": `${level * 1.1 + 0.4}rem` },
        title: `${run.name}, ${duration((run.end ?? now) - run.start)}`,
        onfocus: () => {
          this.chosen = run.id;
          redraw();
        },
        onclick: () => {
          this.chosen = run.id;
          if (run.children.length > 0) this.ui.set(`tree:${run.id}`, !isOpen);
          else this.onRun(run.id);
          redraw();
        },
      },
        h("span", { class: `chevron${run.children.length === 0 ? " is-leaf" : ""}`, "aria-hidden": "true" }),
        h("span", { class: "kind" }, run.isSub ? "sub-agent" : run.kind === "llm" ? "model" : run.kind === "graph" ? "chain" : run.kind),
        h("span", { class: "tree-name" }, plain(run.kind === "llm" ? run.model ?? run.name : run.name)),
        h("span", { class: "tree-inside muted" }, inside(run)), stat(run, now));
    });
  }
}
