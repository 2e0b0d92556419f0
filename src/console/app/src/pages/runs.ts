// All runs: a live list, filters, and a form for a new one.

import { afterDraw, h, redraw, type Child, type VNode } from "../dom";
import { age, count, cut, duration, many, plain, show } from "../format";
import { VirtualList } from "../list";
import { empty, heading, isField, meter, notice, pill, type Page } from "../page";
import { isFinal } from "../reducer";
import type { Row, Store } from "../store";
import { api } from "../api";
import { SubmitForm } from "./submit";

const FILTERS = ["all", "active", "waiting", "succeeded", "failed", "cancelled"];
const ACTIVE = new Set(["queued", "running", "waiting"]);

export class RunsPage implements Page {
  title = "Runs";
  private filter = "all";
  private agent = "";
  private words = "";
  private chosen = -1;
  private error = "";
  private readonly list = new VirtualList();
  private shown: Row[] = [];
  readonly form: SubmitForm;

  constructor(private readonly store: Store, private readonly go: (path: string) => void) {
    this.form = new SubmitForm(store, (id) => go(`/runs/${id}`));
  }

  leave(): void {
    this.store.followRows([]);
  }

  key(key: string): boolean {
    if (key === "j" || key === "k") this.choose(this.chosen + (key === "j" ? 1 : -1));
    else if (key === "Enter" && this.shown[this.chosen]) this.go(`/runs/${this.shown[this.chosen].job.job_id}`);
    else if (key === "c") this.form.open();
    else if (key === "/") document.getElementById("find")?.focus();
    else return false;
    return true;
  }

  private choose(index: number): void {
    this.chosen = Math.max(0, Math.min(this.shown.length - 1, index));
    this.list.show(this.chosen, rowHeight());
    afterDraw(() => {
      if (!isField(document.activeElement)) document.querySelector<HTMLElement>(".run-row.is-chosen a")?.focus();
    });
    redraw();
  }

  private matches(row: Row): boolean {
    const { job } = row;
    if (this.filter === "active" ? !ACTIVE.has(job.state) : this.filter !== "all" && job.state !== this.filter) return false;
    if (this.agent !== "" && job.agent !== this.agent) return false;
    const text = `${job.job_id} ${job.agent} ${job.state} ${job.error ?? ""} ${row.doing}`.toLowerCase();
    return this.words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
  }

  private async cancel(id: string): Promise<void> {
    this.error = "";
    try {
      await api.cancel(id);
    } catch (error) {
      this.error = (error as Error).message;
    }
    redraw();
  }

  private row(index: number): Child {
    const row = this.shown[index];
    const { job } = row;
    const started = job.started_at ? Date.parse(job.started_at) : undefined;
    const ended = job.finished_at ? Date.parse(job.finished_at) : undefined;
    const asks = job.state === "waiting" ? this.store.interrupts.find((i) => i.job_id === job.job_id)?.question : undefined;
    const about = isFinal(job.state) ? job.error ?? "" : asks !== undefined ? `asks: ${show(asks)}` : [row.note, row.doing].filter(Boolean).join(" · ");
    return h("div", { key: job.job_id, class: `run-row${index === this.chosen ? " is-chosen" : ""}`, role: "row", "aria-rowindex": index + 2 },
      h("span", { role: "cell" }, pill(job.state)),
      h("span", { role: "cell", class: "run-id" }, h("a", { href: `#/runs/${job.job_id}`, title: job.job_id }, job.job_id)),
      h("span", { role: "cell", class: "run-agent" }, plain(job.agent)),
      h("span", { role: "cell", class: `run-about${job.state === "failed" ? " is-error" : ""}`, title: cut(about, 500) },
        row.percent !== undefined && !isFinal(job.state) && meter(row.percent, `Progress of ${job.job_id}`), plain(cut(about, 300))),
      h("span", { role: "cell", class: "num run-events" }, count(job.events)),
      h("span", { role: "cell", class: "num run-took" }, started ? duration((ended ?? Date.now()) - started) : "–"),
      h("span", { role: "cell", class: "num run-age" }, age(Date.now() - row.created)),
      h("span", { role: "cell", class: "run-act" }, !isFinal(job.state) && h("button", {
        type: "button", class: "quiet", "aria-label": `Cancel ${job.job_id}`, onclick: () => void this.cancel(job.job_id),
      }, "Cancel")));
  }

  private toolbar(): VNode {
    const agents = [...new Set([...this.store.agents.map((a) => a.agent_type), ...this.store.order.map((r) => r.job.agent)])];
    return h("div", { class: "toolbar" },
      h("input", {
        id: "find", type: "search", placeholder: "Search runs", "aria-label": "Search runs", value: this.words,
        oninput: (e: Event) => {
          this.words = (e.target as HTMLInputElement).value;
          this.chosen = -1;
          redraw();
        },
      }),
      h("div", { class: "segments", role: "group", "aria-label": "State" }, FILTERS.map((f) =>
        h("button", {
          type: "button", key: f, "aria-pressed": f === this.filter ? "true" : "false",
          onclick: () => {
            this.filter = f;
            this.chosen = -1;
            redraw();
          },
        }, f[0].toUpperCase() + f.slice(1)))),
      agents.length > 1 && h("select", {
        "aria-label": "Agent", value: this.agent,
        onchange: (e: Event) => {
          this.agent = (e.target as HTMLSelectElement).value;
          redraw();
        },
      }, h("option", { value: "" }, "All agents"), agents.map((a) => h("option", { key: a, value: a }, a))));
  }

  private welcome(): VNode {
    const demo = this.store.agents.find((a) => a.agent_type === "demo") ?? this.store.agents[0];
    return empty("No runs yet",
      h("p", null, "spoolwire runs your agents, keeps every event they send, and streams it to anyone who watches: live, replayed, ",
        "or resumed where they left off. This page is one of those watchers."),
      demo && h("p", null, h("button", { type: "button", class: "primary", onclick: () => void this.form.start(demo.agent_type) },
        demo.agent_type === "demo" ? "Run the demo agent" : `Run ${demo.agent_type}`)),
      h("p", { class: "muted" }, "or from a terminal: ", h("code", null, `spoolwire submit ${demo?.agent_type ?? "AGENT"} --follow`)));
  }

  private table(): Child {
    if (!this.store.hasJobs) return this.store.error ? notice("error", this.store.error) : h("p", { class: "muted pad" }, "Reading the list…");
    if (this.store.order.length === 0) return this.welcome();
    if (this.shown.length === 0) return empty("Nothing matches", h("p", null, "No run fits the search and the filters."));
    return h("div", { class: "table", role: "table", "aria-label": "Runs", "aria-rowcount": this.shown.length + 1 },
      h("div", { class: "run-row run-head", role: "row" },
        ["State", "Run", "Agent", "Last event", "Events", "Took", "Begun", ""].map((name, i) =>
          h("span", { key: i, role: "columnheader", class: ["", "run-id", "run-agent", "run-about", "num run-events", "num run-took", "num run-age", "run-act"][i] },
            name || h("span", { class: "unseen" }, "Actions")))),
      this.list.view({ class: "rows", role: "rowgroup", tabindex: "0", "aria-label": "All runs" }, this.shown.length, rowHeight(), (i) => this.row(i)));
  }

  view(): Child {
    const { store } = this;
    this.shown = store.order.filter((row) => this.matches(row));
    const active = store.order.filter((r) => ACTIVE.has(r.job.state)).length;
    const table = this.table();
    const inSight = this.shown.slice(this.list.first, this.list.last).filter((r) => ACTIVE.has(r.job.state)).slice(0, 60);
    afterDraw(() => {
      store.followRows(inSight.map((r) => r.job.job_id));
      if (this.list.last >= this.shown.length && store.next !== null) void store.more();
    });
    return h("div", { class: "page runs" },
      heading("Runs", store.hasJobs && `${many(store.order.length, "run")}${store.next !== null ? " so far" : ""}, ${active} active`,
        h("button", { type: "button", class: "primary", onclick: () => this.form.open() }, "New run ", h("kbd", null, "c"))),
      store.order.length > 0 && this.toolbar(),
      this.error !== "" && notice("error", this.error),
      table,
      this.form.view());
  }
}

// Rows are 2.75rem high, which the list has to know in pixels.
export function rowHeight(): number {
  return Math.round(2.75 * parseFloat(getComputedStyle(document.documentElement).fontSize));
}
