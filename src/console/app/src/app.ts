// The frame around the pages: navigation, the connection's status light, keys, and the login form.

import { Dialog, hasDialog } from "./dialog";
import { h, redraw, type Child, type VNode } from "./dom";
import type { LightKind } from "./link";
import { isField, notice, type Page } from "./page";
import { AgentsPage } from "./pages/agents";
import { InboxPage } from "./pages/inbox";
import { RunPage } from "./pages/run";
import { RunsPage } from "./pages/runs";
import { ServerPage } from "./pages/server";
import { WebhooksPage } from "./pages/webhooks";
import { WorkersPage } from "./pages/workers";
import { Store } from "./store";

const LIGHTS: { [kind in LightKind]: string } = {
  connecting: "Connecting",
  live: "Live",
  "catching-up": "Catching up",
  reconnecting: "Reconnecting",
  gone: "Server gone",
  locked: "Locked",
};
const NAV: [string, string][] = [["/", "Runs"], ["/inbox", "Inbox"], ["/workers", "Workers"], ["/agents", "Agents"], ["/webhooks", "Webhooks"], ["/server", "Server"]];
const KEYS: [string, string][] = [
  ["j  k", "next and previous run; on a run, event"], ["enter", "open the run"], ["/", "search; on a run, its events"], ["c", "new run"], ["l", "on a run: the latest event"],
  ["esc", "back to the runs"], ["g then r i w a h s", "go to Runs, Inbox, Workers, Agents, Webhooks, Server"], ["?", "this help"],
];

export class App {
  private readonly store = new Store();
  private page: Page;
  private path = "";
  private token = "";
  private wrong = "";
  private readonly help = new Dialog("keys");
  private isGoing = false; // "g" was pressed

  constructor() {
    this.page = this.open();
    addEventListener("hashchange", () => {
      this.page = this.open();
      redraw();
    });
    addEventListener("keydown", (e) => this.onKey(e));
    setInterval(() => {
      if (!document.hidden) redraw(); // ages and times
    }, 1000);
    void this.store.start();
  }

  // --- pages ---

  private readonly go = (path: string): void => {
    location.hash = `#${path}`;
  };

  private open(): Page {
    const [path, query] = (location.hash.slice(1) || "/").split("?");
    if (this.page && path === this.path && query === undefined) return this.page;
    this.page?.leave?.();
    this.path = path;
    const run = /^\/runs\/([^/]+)$/.exec(path);
    if (run) return new RunPage(this.store, decodeURIComponent(run[1]), this.go);
    if (path === "/inbox") return new InboxPage(this.store);
    if (path === "/workers") return new WorkersPage(this.store);
    if (path === "/agents") return new AgentsPage(this.store, this.go);
    if (path === "/webhooks") return new WebhooksPage(this.store);
    if (path === "/server") return new ServerPage();
    const runs = new RunsPage(this.store, this.go);
    if (query?.startsWith("new")) {
      runs.form.open(decodeURIComponent(query.slice(4)) || undefined);
      history.replaceState(null, "", "#/");
    }
    return runs;
  }

  private onKey(e: KeyboardEvent): void {
    const target = e.target as HTMLElement;
    if (e.ctrlKey || e.metaKey || e.altKey || hasDialog()) return;
    if (isField(target)) {
      if (e.key === "Escape") target.blur();
      return;
    }
    if (e.key === "Enter" && target.closest("a, button, summary")) return;
    if (this.isGoing) {
      const to = { r: "/", i: "/inbox", w: "/workers", a: "/agents", h: "/webhooks", s: "/server" }[e.key];
      this.isGoing = false;
      if (to !== undefined) this.go(to);
    } else if (e.key === "g") this.isGoing = true;
    else if (e.key === "?") this.help.open();
    else if (!this.page.key?.(e.key)) return;
    e.preventDefault();
  }

  // --- the frame ---

  private light(): VNode {
    const { kind, why } = this.store.link.light;
    return h("p", { class: `light is-${kind}`, role: "status" }, h("span", { class: "dot", "aria-hidden": "true" }), h("span", null, LIGHTS[kind], why !== "" && h("span", { class: "why" }, `: ${why}`)));
  }

  private nav(): VNode {
    const here = this.path.startsWith("/runs") ? "/" : this.path || "/";
    const open = this.store.interrupts.length;
    return h("nav", { class: "nav", "aria-label": "Pages" },
      h("a", { class: "brand", href: "#/" }, h("svg", { viewBox: "0 0 20 20", width: 20, height: 20, "aria-hidden": "true" },
        h("path", { d: "M3 4h14M3 16h14M6 4v12M14 4v12M6 8c3-2 5 2 8 0M6 12c3-2 5 2 8 0" })), "spoolwire"),
      h("ul", null, NAV.map(([path, name]) => h("li", { key: path }, h("a", { href: `#${path}`, "aria-current": path === here ? "page" : null }, name,
        path === "/inbox" && open > 0 && h("span", { class: "badge", "aria-label": `${open} open` }, open))))),
      h("div", { class: "nav-foot" },
        this.light(),
        h("p", null, h("a", { href: "/docs" }, "API"), h("button", { type: "button", class: "link", onclick: () => this.help.open() }, "Keys ", h("kbd", null, "?")),
          this.store.isLocked && h("button", { type: "button", class: "link", onclick: () => void this.store.logout() }, "Sign out"))));
  }

  private helpBox(): Child {
    return this.help.view(() => h("form", { method: "dialog" }, h("h2", { id: "keys-title" }, "Keys"),
      h("dl", { class: "keys" }, KEYS.map(([key, what]) => [h("dt", null, key.split("  ").map((k) => h("kbd", null, k))), h("dd", null, what)])),
      h("div", { class: "dialog-foot" }, h("button", { type: "submit" }, "Close"))));
  }

  private door(): VNode {
    return h("main", { class: "door" }, h("form", {
      onsubmit: (e: Event) => {
        e.preventDefault();
        this.wrong = "";
        this.store.login(this.token.trim()).then(() => (this.token = ""), (error: Error) => (this.wrong = error.message)).finally(redraw);
      },
    },
      h("h1", null, "spoolwire"),
      h("p", null, "This server wants a token. It is exchanged for a cookie that scripts cannot read, and kept nowhere else."),
      h("label", null, "Token", h("input", {
        type: "password", autocomplete: "off", value: this.token, required: true,
        oninput: (e: Event) => {
          this.token = (e.target as HTMLInputElement).value;
        },
      })),
      this.wrong !== "" && notice("error", this.wrong),
      h("p", { class: "muted" }, "One is made with ", h("code", null, "spoolwire token create --scope admin"), "."),
      h("button", { type: "submit", class: "primary" }, "Open")));
  }

  view(): Child {
    document.title = `${this.page.title} · spoolwire`;
    if (this.store.link.light.kind === "locked") return this.door();
    return h("div", { class: "frame" },
      h("a", { class: "skip", href: "#main", onclick: (e: Event) => {
        e.preventDefault();
        document.getElementById("main")?.focus();
      } }, "To the page"),
      this.nav(), h("main", { id: "main", tabindex: "-1", key: this.path }, this.page.view()), this.helpBox());
  }
}
