// The form for a new run: an agent and its input.

import { Dialog } from "../dialog";
import { h, redraw, type Child } from "../dom";
import { notice } from "../page";
import { api } from "../api";
import type { Json, JsonObject } from "../record";
import type { Store } from "../store";

const DEMO_INPUT = '{\n  "issue": "API returns 500 after deploy",\n  "ask_timeout": "never"\n}';

const example = (agent: string) => (agent === "demo" ? DEMO_INPUT : "{}");

export class SubmitForm {
  private readonly dialog = new Dialog("submit");
  private agent = "";
  private id = "";
  private input = "";
  private error = "";
  private isSending = false;

  constructor(private readonly store: Store, private readonly done: (id: string) => void) {}

  open(agent = this.store.agents[0]?.agent_type ?? ""): void {
    this.error = "";
    this.id = "";
    this.begin(agent);
    this.dialog.open();
  }

  private begin(agent: string): void {
    this.agent = agent;
    this.input = example(agent);
    redraw();
  }

  // What was typed stays.
  private choose(agent: string): void {
    if (this.input === example(this.agent)) this.input = example(agent);
    this.agent = agent;
    redraw();
  }

  // Submits at once; the form opens only after an error.
  async start(agent: string): Promise<void> {
    this.begin(agent);
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
    if (this.isSending || this.problem() !== "") return;
    const body: JsonObject = { agent: this.agent, input: JSON.parse(this.input) as Json };
    if (this.id !== "") body.job_id = this.id;
    this.isSending = true;
    this.error = "";
    redraw();
    try {
      const job = await api.submit(body);
      this.dialog.close();
      this.done(job.job_id);
    } catch (error) {
      this.error = (error as Error).message;
    }
    this.isSending = false;
    redraw();
  }

  view(): Child {
    return this.dialog.view(() => this.fields());
  }

  private fields(): Child {
    if (this.agent === "" && this.store.agents.length > 0) this.choose(this.store.agents[0].agent_type); // they were not known yet
    const problem = this.problem();
    const about = this.store.agents.find((a) => a.agent_type === this.agent)?.description;
    return h("form", {
      method: "dialog",
      onsubmit: (e: Event) => {
        e.preventDefault();
        void this.send();
      },
      onkeydown: (e: KeyboardEvent) => {
        if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) void this.send();
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
        h("button", { type: "button", onclick: (e: Event) => (e.target as Element).closest("dialog")!.close() }, "Close"),
        h("button", { type: "submit", class: "primary", disabled: problem !== "" || this.isSending }, this.isSending ? "Sending…" : "Start")));
  }
}
