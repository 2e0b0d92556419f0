// Deliveries of webhooks: what became of each, and sending a dead one again.

import { api, Refused, type Webhook } from "../api";
import { now } from "../clock";
import { h, redraw, type Child } from "../dom";
import { age, cut, duration, plain } from "../format";
import { empty, heading, notice, pill, type Page } from "../page";
import type { Store } from "../store";

const EVERY_MS = 2000;
const MORE = 50;
const MOST = 1000; // that the server gives at once
const FILTERS = ["all", "pending", "sent", "dead"];
const COLUMNS = ["State", "Run", "URL", "Attempts", "Last error", "Last or next try", ""];

export class WebhooksPage implements Page {
  title = "Webhooks";
  private webhooks: Webhook[] | undefined;
  private filter = "all";
  private limit = MORE;
  private hasMore = false;
  private n = 0; // of looks: an answer that was overtaken by a later question is left out
  private error = "";
  private readonly resending = new Set<string>();
  private readonly timer: number;

  constructor(private readonly store: Store) {
    this.timer = window.setInterval(() => void this.look(), EVERY_MS);
    void this.look();
  }

  leave(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    if (document.hidden || this.store.link.light.kind === "locked") return;
    const n = ++this.n;
    let error = "";
    try {
      const { webhooks, next } = await api.webhooks(this.limit, this.filter === "all" ? undefined : this.filter);
      if (n !== this.n) return;
      this.webhooks = webhooks;
      this.hasMore = next !== null && this.limit < MOST;
    } catch (e) {
      error = !(e instanceof Refused) ? "The server does not answer." : e.status === 403 ? "Webhooks need a token with the scope admin." : e.message;
    }
    if (n === this.n) this.error = error;
    redraw();
  }

  private async resend(id: string): Promise<void> {
    this.resending.add(id);
    redraw();
    let error = "";
    try {
      await api.resendWebhook(id);
    } catch (e) {
      error = (e as Error).message;
    }
    await this.look();
    this.resending.delete(id);
    if (error !== "") this.error = error;
    redraw();
  }

  private choose(filter: string): void {
    this.filter = filter;
    this.webhooks = undefined;
    this.limit = MORE;
    void this.look();
    redraw();
  }

  // --- what is shown ---

  private next(w: Webhook): Child {
    if (w.due_at === null) return w.tried_at === null ? "" : h("span", { class: "muted" }, `tried ${age(now() - Date.parse(w.tried_at))}`);
    const left = Date.parse(w.due_at) - now();
    return left > 0 ? `in ${duration(left)}` : "now";
  }

  private row(w: Webhook): Child {
    return h("tr", { key: w.id },
      h("td", null, pill(w.state)),
      h("td", { class: "hook-run" }, h("a", { href: `#/runs/${encodeURIComponent(w.id)}`, title: w.id }, plain(w.id)), h("p", { class: "muted", title: w.thread_id }, "thread ", plain(w.thread_id))),
      h("td", { class: "hook-url", title: w.url }, h("code", null, plain(cut(w.url, 300)))),
      h("td", { class: "num" }, w.attempts),
      h("td", { class: "hook-reason" }, plain(cut(w.reason ?? "", 500))),
      h("td", { class: "num" }, this.next(w)),
      h("td", { class: "num" }, w.state === "dead" && h("button", {
        type: "button", "aria-label": `Resend ${w.id}`, disabled: this.resending.has(w.id), onclick: () => void this.resend(w.id),
      }, "Resend")));
  }

  private table(webhooks: Webhook[]): Child {
    return h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Table of webhooks" }, h("table", { class: "grid hooks" },
      h("thead", null, h("tr", null, COLUMNS.map((name, i) => h("th", { key: i, scope: "col", class: i === 3 || i > 4 ? "num" : null }, name || h("span", { class: "unseen" }, "Actions"))))),
      h("tbody", null, webhooks.map((w) => this.row(w)))));
  }

  private nothing(): Child {
    return this.filter === "all"
      ? empty("No webhooks", h("p", null, "A run that names a URL as its ", h("code", null, "webhook"), " appears here when it has ended."))
      : empty("Nothing matches", h("p", null, `No webhook is ${this.filter}.`));
  }

  view(): Child {
    const { webhooks } = this;
    return h("div", { class: "page" },
      heading("Webhooks", "Who was told how a run ended, and who could not be"),
      h("div", { class: "toolbar" }, h("div", { class: "segments", role: "group", "aria-label": "State" }, FILTERS.map((f) =>
        h("button", { type: "button", key: f, "aria-pressed": f === this.filter ? "true" : "false", onclick: () => this.choose(f) }, f[0].toUpperCase() + f.slice(1))))),
      this.error !== "" && notice("error", this.error),
      webhooks?.length === 0 && this.nothing(),
      webhooks && webhooks.length > 0 && this.table(webhooks),
      this.hasMore && h("p", null, h("button", {
        type: "button",
        onclick: () => {
          this.limit = Math.min(MOST, this.limit + MORE);
          void this.look();
        },
      }, "Older ones")));
  }
}
