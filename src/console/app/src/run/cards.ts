// Agent cards: one for each execution, with what its models said and its tools did.

import { h, Memo, type Child, type VNode } from "../dom";
import { count, cut, duration, many, plain, show } from "../format";
import { copyButton, meter } from "../page";
import { contentText, type Item, type Run, type State } from "../reducer";
import type { Json, JsonObject } from "../record";
import { Texts } from "./text";
import type { Ui } from "./ui";

const SHORT = 700; // characters of a card that are shown without asking
const PREVIEW = 400;
export const WORDS: { [status: string]: string } = {
  open: "running", ok: "done", error: "failed", cancelled: "cancelled", interrupted: "interrupted", retried: "retried",
};

export class Cards {
  private readonly memo = new Memo();
  private readonly texts = new Texts();

  constructor(private readonly ui: Ui) {}

  view(s: State, now: number): VNode[] {
    const visits = new Map<string, number>();
    return s.cards.map((id) => {
      const run = s.runs.get(id)!;
      const visit = (visits.get(run.name) ?? 0) + 1;
      visits.set(run.name, visit);
      const tick = run.status === "open" ? Math.floor(now / 100) : 0;
      return this.memo.get(id, `${run.v}/${this.ui.v}/${tick}/${visit}`, () => this.card(s, run, now, visit));
    });
  }

  private card(s: State, run: Run, now: number, visit: number): VNode {
    const isOpen = this.ui.is(`card:${run.id}`, run.hasCard || run.items!.length > 0 && !run.isTop);
    const key = `card-${run.id}`;
    return h("article", { key: run.id, id: key, class: `card is-${run.status}${run.hasCard ? "" : " is-minor"}`, "aria-labelledby": `${key}-name` },
      h("header", { class: "card-head" },
        h("button", {
          type: "button", class: "toggle", "aria-expanded": isOpen ? "true" : "false", "aria-controls": `${key}-body`,
          onclick: () => this.ui.set(`card:${run.id}`, !isOpen),
        }, h("span", { class: "chevron", "aria-hidden": "true" }), h("span", { id: `${key}-name`, class: "card-name" }, plain(run.name)),
          visit > 1 && h("span", { class: "visit" }, `visit ${visit}`)),
        !isOpen && h("span", { class: "card-brief" }, plain(cut(brief(s, run), 120))),
        run.percent !== undefined && run.status === "open" && meter(run.percent, `Progress of ${run.name}`, run.note),
        stat(run, now)),
      isOpen && h("div", { id: `${key}-body`, class: "card-body" }, this.body(s, run, now)));
  }

  private body(s: State, run: Run, now: number): Child {
    const key = `all:${run.id}`;
    const isLong = run.status !== "open" && size(s, run) > SHORT;
    const isCut = isLong && !this.ui.is(key, false);
    const own = run.kind === "llm" || run.kind === "retriever" ? [this.model(run, now)] : [];
    return [
      run.error && run.status === "error" && h("p", { class: "wrong" }, plain(`${run.errorType ? `${run.errorType}: ` : ""}${run.error}`)),
      h("div", { class: run.status === "open" ? "tail" : isCut ? "cut" : "whole", tabindex: run.status === "open" ? "0" : null, role: "group", "aria-label": run.name },
        h("div", { class: "items" }, own, this.items(s, run, now))),
      isLong && h("button", { type: "button", class: "quiet more", onclick: () => this.ui.set(key, isCut) }, isCut ? "Show all" : "Show less"),
      h("div", { class: "folds" },
        run.kind === "node" && run.input !== undefined && this.ui.fold(`in:${run.id}`, "Input", () => json(run.input!)),
        run.output !== undefined && run.kind === "node" && this.ui.fold(`out:${run.id}`, "Output", () => json(run.output!))),
    ];
  }

  private items(s: State, box: Run, now: number): Child[] {
    return box.items!.map((item) => this.item(s, item, now));
  }

  private item(s: State, item: Item, now: number): Child {
    if (item.kind === "message") {
      return h("div", { key: `m${item.seq}`, class: "item message" }, h("div", { class: "item-head" }, h("span", { class: "kind" }, plain(item.role))),
        h("div", { class: "said", dir: "auto" }, plain(item.text)));
    }
    if (item.kind === "note") {
      return h("div", { key: `n${item.seq}`, class: "item note" }, h("span", { class: "kind" }, plain(item.title)), " ", h("span", { class: "note-text" }, plain(cut(item.text, PREVIEW))));
    }
    const run = s.runs.get(item.id)!;
    if (run.isSub) return this.subAgent(s, run, now);
    return run.kind === "tool" ? this.tool(s, run, now) : this.model(run, now);
  }

  private model(run: Run, now: number): VNode {
    const tokens = run.tokensIn + run.tokensOut;
    return h("div", { key: run.id, class: `item llm is-${run.status}` },
      h("div", { class: "item-head" }, h("span", { class: "kind" }, run.kind === "llm" ? "model" : run.kind), h("span", { class: "item-name" }, plain(run.model ?? run.name)),
        run.section !== undefined && h("span", { class: "tag" }, plain(run.section)),
        tokens > 0 && h("span", { class: "muted" }, `${count(run.tokensIn)} → ${count(run.tokensOut)} tokens`), stat(run, now)),
      run.text !== "" && this.texts.view(run.id, run.text, "said"),
      run.calls.length > 0 && h("div", { class: "calls" }, run.calls.map((c, i) =>
        h("div", { key: i, class: "call" }, "→ ", h("code", null, plain(c.name)), " ", h("code", { class: "preview" }, plain(cut(c.args, PREVIEW)))))),
      run.error && h("p", { class: "wrong" }, plain(run.error)),
      h("div", { class: "folds" },
        run.reasoning !== "" && this.ui.fold(`why:${run.id}`, `Reasoning (${many(run.reasoning.length, "character")})`,
          () => this.texts.view(`why:${run.id}`, run.reasoning, "said reasoning")),
        run.input !== undefined && this.ui.fold(`in:${run.id}`, run.kind === "llm" ? "Prompt" : "Query", () => prompt(run.input!)),
        run.kind === "retriever" && run.output !== undefined && this.ui.fold(`out:${run.id}`, "Documents", () => json(run.output!))));
  }

  private tool(s: State, run: Run, now: number): VNode {
    return h("div", { key: run.id, class: `item tool is-${run.status}` },
      h("div", { class: "item-head" }, h("span", { class: "kind" }, "tool"), h("code", { class: "item-name" }, plain(run.name)), stat(run, now)),
      run.preview !== undefined && h("code", { class: "preview" }, plain(cut(run.preview, PREVIEW))),
      run.items!.length > 0 && h("div", { class: "nested" }, this.items(s, run, now)),
      run.status !== "error" && run.result !== undefined && h("div", { class: "result" }, "← ", h("code", { class: "preview" }, plain(cut(run.result, PREVIEW)))),
      run.error && h("p", { class: "wrong" }, plain(run.error)),
      (run.input !== undefined || run.output !== undefined) && this.ui.fold(`io:${run.id}`, "Input and result",
        () => [json(run.input ?? null), run.output !== undefined && json(run.output)]));
  }

  private subAgent(s: State, run: Run, now: number): VNode {
    return h("div", { key: run.id, class: `item sub is-${run.status}`, role: "group", "aria-label": `sub-agent ${run.name}` },
      h("div", { class: "item-head" }, h("span", { class: "kind" }, "sub-agent"), h("span", { class: "item-name" }, plain(run.name)),
        h("span", { class: "muted" }, inside(run)), stat(run, now)),
      h("div", { class: "nested" }, this.items(s, run, now)));
  }
}

// --- small parts ---

export function stat(run: Run, now: number): VNode {
  const took = duration((run.end ?? now) - run.start);
  return h("span", { class: "stat" }, h("span", { class: `mark is-${run.status}` }, WORDS[run.status]), " ",
    h("span", run.status === "open" ? { class: "took", "data-tick": "" } : { class: "took" }, took));
}

export function inside(run: Run): string {
  const parts = [];
  if (run.nChains > 0) parts.push(many(run.nChains, "chain"));
  if (run.nLlms > 0) parts.push(many(run.nLlms, "model call"));
  if (run.nTools > 0) parts.push(many(run.nTools, "tool"));
  return parts.join(" · ");
}

// The last thing that was said or done in it.
function brief(s: State, box: Run): string {
  for (const item of [...(box.items ?? [])].reverse()) {
    if (item.kind !== "run") return item.text;
    const run = s.runs.get(item.id)!;
    if (run.text !== "") return run.text;
    if (run.kind === "tool") return `${run.name} ${run.result ?? ""}`;
  }
  return inside(box);
}

function size(s: State, box: Run): number {
  let n = box.text.length;
  for (const item of box.items ?? []) {
    if (item.kind !== "run") n += item.text.length;
    else {
      const run = s.runs.get(item.id)!;
      n += 120 + run.text.length + Math.min(PREVIEW, run.preview?.length ?? 0) + Math.min(PREVIEW, run.result?.length ?? 0) +
        (run.items ? size(s, run) : 0);
    }
  }
  return n;
}

export function json(value: Json): VNode {
  const text = show(value);
  return h("div", { class: "json" }, copyButton(() => text), h("pre", { tabindex: "0" }, plain(text)));
}

// The messages that a model got.
function prompt(input: Json): Child {
  const messages = (input as JsonObject)?.messages;
  const list = Array.isArray(messages) ? messages.flat() : [];
  if (list.length === 0) return json(input);
  return h("div", { class: "prompt" }, list.map((each, i) => {
    const m = (each ?? {}) as JsonObject;
    return h("div", { key: i, class: "item message" }, h("div", { class: "item-head" }, h("span", { class: "kind" }, plain(String(m.type ?? m.role ?? "message")))),
      h("div", { class: "said", dir: "auto" }, plain(contentText(m.content))));
  }));
}
