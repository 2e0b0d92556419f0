// The form for a new run: an agent and its input.

import { afterDraw, h, redraw, type VNode } from "../dom";
import { notice } from "../page";
import { api } from "../api";
import type { Json, JsonObject } from "../record";
import type { Store } from "../store";

const DEMO_INPUT = '{\n  "issue": "API returns 500 after deploy",\n  "ask_timeout": "never"\n}';

export class SubmitForm {
  private isOpen = false;
  private agent = "";
  private id = "";
  private input = "";
  private error = "";
  private isSending = false;

  constructor(private readonly store: Store, private readonly done: (id: string) => void) {}

  open(agent = this.store.agents[0]?.agent_type ?? ""): void {
    if (this.isOpen) return;
    this.isOpen = true;
    this.error = "";
    this.id = "";
    this.choose(agent);
    afterDraw(() => (document.getElementById("submit") as HTMLDialogElement).showModal());
    redraw();
  }

  private close(): void {
    this.isOpen = false;
    redraw();
  }

  private choose(agent: string): void {
    this.agent = agent;
    this.input = agent === "demo" ? DEMO_INPUT : "{}";
    redraw();
  }

  // Without asking.
  async start(agent: string): Promise<void> {
    this.choose(agent);
    await this.send();
    if (this.error !== "") {
      const error = this.error;
      this.open(agent);
      this.error = error;
    }
  }

  private problem(): string {
    try {
      JSON.parse(this.input);
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  }

  private async send(): Promise<void> {
    const body: JsonObject = { agent: this.agent, input: JSON.parse(this.input) as Json };
    if (this.id !== "") body.job_id = this.id;
    this.isSending = true;
    this.error = "";
    redraw();
    try {
      const job = await api.submit(body);
      this.isOpen = false;
      this.done(job.job_id);
    } catch (error) {
      this.error = (error as Error).message;
    }
    this.isSending = false;
    redraw();
  }

  view(): VNode | false {
    if (!this.isOpen) return false;
    const problem = this.problem();
    const about = this.store.agents.find((a) => a.agent_type === this.agent)?.description;
    return h("dialog", { id: "submit", class: "dialog", "aria-labelledby": "submit-title", onclose: () => this.close() },
      h("form", {
        method: "dialog",
        onsubmit: (e: Event) => {
          e.preventDefault();
          if (problem === "" && !this.isSending) void this.send();
        },
        onkeydown: (e: KeyboardEvent) => {
          if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && problem === "" && !this.isSending) void this.send();
        },
      },
        h("h2", { id: "submit-title" }, "New run"),
        h("label", null, "Agent",
          h("select", { name: "agent", value: this.agent, onchange: (e: Event) => this.choose((e.target as HTMLSelectElement).value) },
            this.store.agents.map((a) => h("option", { key: a.agent_type, value: a.agent_type }, a.agent_type)))),
        about && h("p", { class: "muted" }, about),
        h("label", null, "Input (JSON)",
          h("textarea", {
            name: "input", rows: 9, spellcheck: "false", value: this.input, "aria-invalid": problem ? "true" : "false", "aria-describedby": "submit-problem",
            oninput: (e: Event) => {
              this.input = (e.target as HTMLTextAreaElement).value;
              redraw();
            },
          })),
        h("p", { id: "submit-problem", class: "field-note", role: "status" }, problem || "Any JSON: it reaches the worker as it is."),
        h("label", null, "Id", h("span", { class: "muted" }, " (one is made when this is empty)"),
          h("input", {
            name: "id", value: this.id, pattern: "[A-Za-z0-9_\\-]{1,64}", autocomplete: "off",
            oninput: (e: Event) => {
              this.id = (e.target as HTMLInputElement).value;
            },
          })),
        this.error !== "" && notice("error", this.error),
        h("div", { class: "dialog-foot" },
          h("button", { type: "button", onclick: () => (document.getElementById("submit") as HTMLDialogElement).close() }, "Close"),
          h("button", { type: "submit", class: "primary", disabled: problem !== "" || this.isSending }, this.isSending ? "Sending…" : "Start"))));
  }
}
