// What can be run here.

import { h, type Child } from "../dom";
import { many, plain } from "../format";
import { empty, heading, type Page } from "../page";
import type { Store } from "../store";

export class AgentsPage implements Page {
  title = "Agents";

  constructor(private readonly store: Store, private readonly go: (path: string) => void) {}

  view(): Child {
    const { agents, order } = this.store;
    return h("div", { class: "page" },
      heading("Agents", "What can be run on this server"),
      agents.length === 0 && empty("No agents", h("p", null, "Agents are configured in the server's file; see docs/configuration.md.")),
      h("div", { class: "tiles" }, agents.map((a) => {
        const mine = order.filter((r) => r.job.agent === a.agent_type);
        const active = mine.filter((r) => r.job.finished_at === null).length;
        const failed = mine.filter((r) => r.job.state === "failed").length;
        return h("article", { key: a.agent_type, class: "tile" },
          h("h2", null, plain(a.agent_type)), h("p", { class: "muted" }, plain(a.description ?? "No description")),
          h("p", { class: "facts muted" }, h("span", null, many(mine.length, "run")), h("span", null, `${active} active`), failed > 0 && h("span", { class: "wrong" }, `${failed} failed`)),
          h("button", { type: "button", onclick: () => this.go(`/?new=${encodeURIComponent(a.agent_type)}`) }, "New run"));
      })));
  }
}
