// Who works: processes and programs that hold a lease, or wait for one.

import { api, Refused, type Worker } from "../api";
import { now } from "../clock";
import { h, redraw, type Child } from "../dom";
import { age, duration, plain } from "../format";
import { empty, heading, notice, type Page } from "../page";
import type { Store } from "../store";

const EVERY_MS = 2000;

export class WorkersPage implements Page {
  title = "Workers";
  private workers: Worker[] | undefined;
  private error = "";
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
    try {
      this.workers = (await api.workers()).workers;
      this.error = "";
    } catch (error) {
      this.error = error instanceof Refused ? error.message : "The server does not answer.";
    }
    redraw();
  }

  private row(w: Worker, i: number): Child {
    const left = w.lease_until === null ? undefined : Date.parse(w.lease_until) - now();
    return h("tr", { key: i },
      h("td", null, h("code", null, plain(w.worker ?? "–"))),
      h("td", null, w.agents.map((a) => h("span", { key: a, class: "tag" }, plain(a)))),
      h("td", null, w.job_id === null ? h("span", { class: "muted" }, "waits for work") : h("a", { href: `#/runs/${w.job_id}` }, w.job_id)),
      h("td", { class: "num" }, w.attempt === null ? "" : w.attempt),
      h("td", { class: "num" }, left === undefined ? "" : left > 0 ? duration(left) : "over"),
      h("td", { class: "num" }, age(now() - Date.parse(w.seen_at))));
  }

  view(): Child {
    const { workers } = this;
    return h("div", { class: "page" },
      heading("Workers", "Who holds a lease, and who waits for one"),
      this.error !== "" && notice("error", this.error),
      workers?.length === 0 && empty("Nobody works", h("p", null, "Workers appear here when they take a job, or wait for one. Agents of the kind exec are started with each job.")),
      workers && workers.length > 0 && h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Workers" }, h("table", { class: "grid" },
        h("thead", null, h("tr", null, ["Worker", "Agents", "Run", "Attempt", "Lease left", "Last sign"].map((name, i) => h("th", { key: name, scope: "col", class: i > 2 ? "num" : null }, name)))),
        h("tbody", null, workers.map((w, i) => this.row(w, i))))));
  }
}
