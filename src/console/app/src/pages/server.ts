// The server itself: small charts of what it says in /metrics, and the gateways that share its database.

import { api, Refused, type Gateway } from "../api";
import { chart } from "../chart";
import { h, redraw, type Child } from "../dom";
import { bytes, count, duration, plain } from "../format";
import { parse, quantile, sum, type Metrics } from "../metrics";
import { heading, notice, type Page } from "../page";

const EVERY_MS = 2000;
const KEPT = 90;
const TRANSPORTS = [["sse", "SSE"], ["websocket", "WebSocket"], ["ndjson", "JSON lines"], ["poll", "long poll"]];

export class ServerPage implements Page {
  title = "Server";
  private readonly looks: { at: number; metrics: Metrics }[] = [];
  private gateways: Gateway[] = [];
  private own: string | null = null;
  private error = "";
  private readonly timer: number;

  constructor() {
    this.timer = window.setInterval(() => void this.look(), EVERY_MS);
    void this.look();
  }

  leave(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    if (document.hidden) return;
    try {
      this.looks.push({ at: Date.now(), metrics: parse(await api.metrics()) });
      if (this.looks.length > KEPT) this.looks.shift();
      ({ id: this.own, gateways: this.gateways } = await api.gateways());
      this.error = "";
    } catch (error) {
      this.error = error instanceof Refused && error.status === 403 ? "The numbers need a token with the scope metrics or admin." : (error as Error).message;
    }
    redraw();
  }

  private rates(name: string): number[] {
    return this.looks.slice(1).map((look, i) => {
      const seconds = (look.at - this.looks[i].at) / 1000;
      return Math.max(0, (sum(look.metrics, name) - sum(this.looks[i].metrics, name)) / seconds);
    });
  }

  private gauges(name: string, where?: { [label: string]: string }): number[] {
    return this.looks.map((look) => sum(look.metrics, name, where));
  }

  private latencies(name: string): number[] {
    return this.looks.slice(1).map((look, i) => quantile(look.metrics, this.looks[i].metrics, name, 0.99) ?? 0).map((s) => (Number.isFinite(s) ? s * 1000 : 0));
  }

  private charts(m: Metrics): Child {
    const rate = this.rates("spoolwire_events_appended_total");
    const sent = this.rates("spoolwire_stream_bytes_total");
    const commit = this.latencies("spoolwire_store_commit_duration_seconds");
    const lag = this.latencies("spoolwire_events_delivery_latency_seconds");
    const open = TRANSPORTS.map(([t, name]) => `${name} ${sum(m, "spoolwire_streams_open", { transport: t })}`).join(", ");
    const ms = (list: number[]): string => (list.some((x) => x > 0) ? `${duration([...list].reverse().find((x) => x > 0)!)}` : "–");
    return h("div", { class: "tiles" },
      chart("Events stored", `${count(Math.round(rate.at(-1) ?? 0))} /s`, rate, `${count(sum(m, "spoolwire_events_appended_total"))} since the start`),
      chart("Commit, 99 %", ms(commit), commit, `${count(sum(m, "spoolwire_store_commit_duration_seconds_count"))} commits, ${sum(m, "spoolwire_store_commits_failed_total")} failed`),
      chart("Delivery, 99 %", ms(lag), lag, "from stored to sent"),
      chart("Readers of runs", String(sum(m, "spoolwire_streams_open")), this.gauges("spoolwire_streams_open"), open),
      chart("Connections", String(sum(m, "spoolwire_http_connections_open")), this.gauges("spoolwire_http_connections_open"), `${bytes(Math.round(sent.at(-1) ?? 0))}/s sent to readers`),
      chart("Jobs at work", String(sum(m, "spoolwire_jobs", { state: "running" })), this.gauges("spoolwire_jobs", { state: "running" }),
        `${sum(m, "spoolwire_jobs", { state: "queued" })} queued, ${sum(m, "spoolwire_jobs", { state: "waiting" })} waiting`),
      chart("Memory", bytes(sum(m, "process_resident_memory_bytes")), this.gauges("process_resident_memory_bytes"), `${sum(m, "process_threads")} threads`),
      chart("Disk", bytes(sum(m, "spoolwire_store_bytes") + sum(m, "spoolwire_store_wal_bytes")), this.gauges("spoolwire_store_bytes").map((x, i) => x + this.gauges("spoolwire_store_wal_bytes")[i]),
        `${bytes(sum(m, "spoolwire_disk_free_bytes"))} free`));
  }

  /** What a gateway writes: everything, or some of the shards. */
  private written(g: Gateway): Child {
    const all = this.gateways.reduce((n, one) => n + one.shards.length, 0);
    if (g.shards.length === 0)
      return h("span", { class: "muted" }, "forwards");
    return all > 1 ? `writes shard${g.shards.length > 1 ? "s" : ""} ${g.shards.join(", ")}` : "writes";
  }

  private gateway(g: Gateway): Child {
    return h("tr", { key: g.id },
      h("td", null, h("a", { href: g.url }, plain(g.url)), g.id === this.own && h("span", { class: "tag" }, "this one")),
      h("td", null, h("code", null, plain(g.id))),
      h("td", null, plain(g.version)),
      h("td", null, this.written(g)),
      h("td", { class: "num" }, duration(Date.now() - Date.parse(g.started_at))));
  }

  private table(): Child {
    return h("section", { "aria-label": "Gateways" },
      h("h2", null, "Gateways"),
      h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Table of gateways" }, h("table", { class: "grid" },
        h("thead", null, h("tr", null, ["Address", "Id", "Version", "Jobs", "Up for"].map((name, i) => h("th", { key: name, scope: "col", class: i > 3 ? "num" : null }, name)))),
        h("tbody", null, this.gateways.map((g) => this.gateway(g))))));
  }

  view(): Child {
    const m = this.looks.at(-1)?.metrics;
    const version = m?.get("spoolwire_build_info")?.[0]?.labels.version;
    const started = m && sum(m, "process_start_time_seconds") * 1000;
    return h("div", { class: "page" },
      heading("Server", version && `spoolwire ${version}, up for ${duration(Date.now() - (started ?? 0))}`, h("a", { href: "/metrics" }, "All metrics")),
      this.error !== "" && notice("error", this.error),
      m && this.charts(m),
      this.gateways.length > 0 && this.table());
  }
}
