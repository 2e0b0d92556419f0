// What can be run here.

import { api, type AgentState } from "../api";
import { h, redraw, type Child } from "../dom";
import { many, plain } from "../format";
import { empty, heading, type Page } from "../page";
import type { Store } from "../store";

const EVERY_MS = 2000;

export class AgentsPage implements Page {
  title = "Agents";
  private states = new Map<string, AgentState>();
  private readonly timer: number;

  constructor(private readonly store: Store, private readonly go: (path: string) => void) {
    this.timer = window.setInterval(() => void this.look(), EVERY_MS);
    void this.look();
  }

  leave(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    if (document.hidden || this.store.link.light.kind === "locked") return;
    try {
      this.states = new Map((await api.agentStates()).agents.map((a) => [a.agent, a]));
    } catch {
      return; // what was known stays; the light says that the server does not answer
    }
    redraw();
  }

  private trouble(a: AgentState): Child {
    return a.error !== null && h("p", { class: "wrong" }, `${many(a.broken_workers, "worker")}, ${plain(a.error)}`);
  }

  view(): Child {
    const { agents, order } = this.store;
    return h("div", { class: "page" },
      heading("Agents", "What can be run on this server"),
      agents.length === 0 && empty("No agents", h("p", null, "Agents are configured in the server's file; see docs/configuration.md.")),
      h("div", { class: "tiles" }, agents.map((a) => {
        const mine = order.filter((r) => r.job.agent === a.agent_type);
        const active = mine.filter((r) => r.job.finished_at === null).length;
        const failed = mine.filter((r) => r.job.state === "failed").length;
        const state = this.states.get(a.agent_type);
        return h("article", { key: a.agent_type, class: "tile" },
          h("h2", null, plain(a.agent_type)), h("p", { class: "muted" }, plain(a.description ?? "No description")),
          h("p", { class: "facts muted" }, h("span", null, many(mine.length, "run")), h("span", null, `${active} active`), failed > 0 && h("span", { class: "wrong" }, `${failed} failed`), state !== undefined && state.queued > 0 && h("span", null, `${state.queued} queued`)),
          state !== undefined && this.trouble(state),
          h("button", { type: "button", onclick: () => this.go(`/?new=${encodeURIComponent(a.agent_type)}`) }, "New run"));
      })));
  }
}
