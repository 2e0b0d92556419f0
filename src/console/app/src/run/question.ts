// A question of a run: what is asked, the time that is left, and a form for the answer.

import { api, Refused, type Interrupt } from "../api";
import { now } from "../clock";
import { h, redraw, type Child, type VNode } from "../dom";
import { duration, plain, show } from "../format";
import { Markdown } from "../markdown";
import { notice } from "../page";
import type { Json, JsonObject } from "../record";
import { Field } from "./schema";

const THEN: { [what: string]: string } = { fail: "then the run fails", default: "then the default is taken", cancel: "then the run is cancelled" };

export interface Asked {
  id: string;
  job: string;
  question: Json;
  context: Json;
  value: Json;
  schema?: JsonObject;
  default?: Json;
  expires: number | undefined;
  onExpiry: string;
}

export function asked(i: Interrupt): Asked {
  const value = (i.value ?? {}) as JsonObject;
  const schema = (i.schema ?? value.schema) as JsonObject | undefined;
  return {
    id: i.interrupt_id, job: i.job_id, question: i.question ?? i.value, context: i.context, value: i.value,
    schema: schema && typeof schema === "object" && !Array.isArray(schema) ? schema : undefined,
    default: i.default, expires: i.expires_at ? Date.parse(i.expires_at) : undefined, onExpiry: i.on_expiry,
  };
}

// What the graph itself offers, where it says so without a schema.
function options(value: Json): string[] {
  const v = (value !== null && typeof value === "object" && !Array.isArray(value) ? value : {}) as JsonObject;
  const list = v.options ?? v.choices;
  return Array.isArray(list) && list.length <= 12 ? list.filter((x): x is string => typeof x === "string") : [];
}

export class QuestionForm {
  private field: Field;
  private isJson = false;
  private isSending = false;
  private error = "";
  private readonly markdown = new Markdown();

  constructor(private q: Asked, private readonly done: () => void) {
    this.field = new Field(q.schema ?? { type: "string" }, q.default, "Answer");
  }

  // The deadline and the schema may become known later than the question.
  update(q: Asked): void {
    if (JSON.stringify(q.schema) !== JSON.stringify(this.q.schema) || (q.default !== undefined && this.q.default === undefined)) {
      this.field = new Field(q.schema ?? { type: "string" }, q.default, "Answer");
    }
    this.q = q;
  }

  private toJson(): void {
    this.isJson = true;
    let value: Json = null;
    try {
      value = this.field.read() ?? null;
    } catch {
      // It begins empty.
    }
    this.field = new Field({}, JSON.stringify(value), "Answer");
    redraw();
  }

  private async send(value?: Json): Promise<void> {
    this.error = "";
    try {
      const answer = value ?? this.field.read() ?? null;
      this.isSending = true;
      redraw();
      await api.answer(this.q.job, this.q.id, answer);
      this.done();
    } catch (error) {
      this.error = (error as Error).message;
      if (error instanceof Refused && (error.status === 409 || error.status === 410)) this.done();
    }
    this.isSending = false;
    redraw();
  }

  private left(): Child {
    const { expires, onExpiry } = this.q;
    if (expires === undefined) return h("span", { class: "muted" }, "No deadline");
    const ms = expires - now();
    return h("span", { class: `left${ms < 60000 ? " is-short" : ""}`, "data-tick": "" }, ms > 0 ? `${duration(Math.ceil(ms / 1000) * 1000).replace(".0", "")} left, ${THEN[onExpiry] ?? onExpiry}` : "Expired");
  }

  view(): VNode {
    const { q } = this;
    const choices = options(q.value);
    return h("section", { key: q.id, class: "question", "aria-label": "Question" },
      h("header", { class: "question-head" }, h("h2", null, typeof q.question === "string" ? plain(q.question) : "The run asks"), this.left()),
      typeof q.question !== "string" && h("pre", { tabindex: "0" }, plain(show(q.question))),
      q.context !== null && q.context !== undefined && h("div", { class: "context" }, typeof q.context === "string" ? this.markdown.view(q.context) : h("pre", { tabindex: "0" }, plain(show(q.context)))),
      h("form", {
        onsubmit: (e: Event) => {
          e.preventDefault();
          if (!this.isSending) void this.send();
        },
        onkeydown: (e: KeyboardEvent) => {
          if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && !this.isSending) void this.send();
        },
      },
        !q.schema && !this.isJson && choices.length > 0 && h("div", { class: "offers" }, choices.map((c) =>
          h("button", { type: "button", key: c, disabled: this.isSending, onclick: () => void this.send(c) }, plain(c)))),
        this.field.view(`answer-${q.id}`),
        this.error !== "" && notice("error", this.error),
        h("div", { class: "question-foot" },
          h("button", { type: "submit", class: "primary", disabled: this.isSending }, this.isSending ? "Sending…" : "Answer"),
          !this.isJson && this.field.kind() !== "json" && h("button", { type: "button", class: "quiet", onclick: () => this.toJson() }, "As JSON"))));
  }
}
