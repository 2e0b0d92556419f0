// What a run has made: its sections as they are written, the report, todos, files and sources.

import { h, Memo, type Child, type VNode } from "../dom";
import { bytes, many, plain } from "../format";
import { link, Markdown } from "../markdown";
import { copyButton } from "../page";
import type { FileMade, Section, State } from "../reducer";
import { json, WORDS } from "./cards";
import type { Ui } from "./ui";

export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  const a = document.createElement("a");
  a.href = url;
  a.download = name.split("/").pop() || "file.txt";
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // a busy browser may start the download late
}

function title(name: string): string {
  const words = name.replace(/[_-]+/g, " ").trim();
  return words === "" ? "Output" : words[0].toUpperCase() + words.slice(1);
}

export class Outputs {
  private readonly memo = new Memo();
  private readonly texts = new Map<string, Markdown>();

  constructor(private readonly ui: Ui) {}

  private markdown(key: string, text: string): VNode {
    let m = this.texts.get(key);
    if (!m) this.texts.set(key, (m = new Markdown()));
    return m.view(text);
  }

  private panel(key: string, name: string, text: string, mark: Child): VNode {
    return h("section", { key, class: "panel", "aria-label": name },
      h("header", { class: "panel-head" }, h("h3", null, plain(name)), mark, copyButton(() => text),
        h("button", { type: "button", class: "quiet", onclick: () => download(`${name}.md`, text) }, "Download")),
      this.markdown(key, text));
  }

  private section(x: Section, n: number): VNode {
    const name = title(x.name) + (n > 1 ? ` (${n})` : "");
    return this.memo.get(`s:${x.key}`, `${x.v}`, () =>
      this.panel(x.key, name, x.text, h("span", { class: `mark is-${x.status}` }, x.status === "open" ? "writing" : WORDS[x.status])));
  }

  view(s: State): Child {
    const seen = new Map<string, number>();
    const sections = s.sections.map((x) => {
      const n = (seen.get(x.name) ?? 0) + 1;
      seen.set(x.name, n);
      return this.section(x, n);
    });
    const texts = new Set(s.sections.map((x) => x.text.trim()));
    const others = s.outputs.filter((o) => o.category !== "final_report" && !texts.has(o.content.trim()));
    const hasOutput = s.output !== undefined && s.output !== null;
    if (sections.length + others.length === 0 && !hasOutput) return h("p", { class: "muted pad" }, "No output yet.");
    return h("div", { class: "panels" }, sections,
      others.length > 0 && this.ui.fold("drafts", `Other outputs (${others.length})`, () => others.map((o) =>
        this.panel(`o${o.seq}`, `${title(o.category)}${o.node ? `, ${o.node}` : ""}`, o.content, false)), sections.length === 0),
      hasOutput && h("section", { key: "result", class: "panel", "aria-label": "Result" }, h("header", { class: "panel-head" }, h("h3", null, "Result")), json(s.output!)));
  }

  report(s: State): Child {
    if (s.report === undefined) return h("p", { class: "muted pad" }, "No report yet.");
    return h("div", { class: "panels" }, this.memo.get("report", `${s.report.length}`, () => this.panel("report", "Report", s.report!, false)));
  }

  // --- artifacts ---

  artifacts(s: State): Child {
    const n = s.todos.length + s.files.length + s.sources.length;
    if (n === 0 && s.values === undefined) return h("p", { class: "muted pad" }, "Nothing was made yet.");
    return h("div", { class: "panels" },
      s.todos.length > 0 && this.todos(s),
      s.files.length > 0 && h("section", { class: "panel", "aria-label": "Files" }, h("header", { class: "panel-head" }, h("h3", null, "Files"), h("span", { class: "muted" }, s.files.length)),
        s.files.map((f) => this.file(f))),
      s.sources.length > 0 && this.sources(s),
      s.values !== undefined && this.ui.fold("state", "State of the graph", () => json(s.values!)));
  }

  private todos(s: State): VNode {
    const done = s.todos.filter((t) => t.status === "completed").length;
    return h("section", { class: "panel", "aria-label": "Todos" },
      h("header", { class: "panel-head" }, h("h3", null, "Todos"), h("span", { class: "muted" }, `${done} of ${s.todos.length}`)),
      h("ul", { class: "todos" }, s.todos.map((t, i) => h("li", { key: i, class: `todo is-${t.status}` },
        h("span", { class: "todo-mark", "aria-hidden": "true" }, t.status === "completed" ? "●" : t.status === "in_progress" ? "◐" : "○"),
        h("span", null, plain(t.content)), h("span", { class: "unseen" }, ` (${t.status})`)))));
  }

  private file(f: FileMade): VNode {
    const size = bytes(new TextEncoder().encode(f.content).length);
    return h("div", { key: f.name, class: "file" },
      this.ui.fold(`file:${f.name}`, [h("code", null, plain(f.name)), h("span", { class: "muted" }, ` ${size}${f.n > 1 ? `, written ${many(f.n, "time")}` : ""}`)],
        () => h("pre", { tabindex: "0" }, plain(f.content))),
      h("button", { type: "button", class: "quiet", "aria-label": `Download ${f.name}`, onclick: () => download(f.name, f.content) }, "Download"));
  }

  private sources(s: State): VNode {
    return h("section", { class: "panel", "aria-label": "Sources" },
      h("header", { class: "panel-head" }, h("h3", null, "Sources"), h("span", { class: "muted" }, `${s.sources.filter((x) => x.isUsed).length} of ${s.sources.length} cited`)),
      h("ul", { class: "sources" }, s.sources.map((x) => h("li", { key: x.url }, link(x.url, plain(x.title || x.url)), x.isUsed && h("span", { class: "tag" }, "cited")))));
  }
}
