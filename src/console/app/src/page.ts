// What a page is, and bits that several have.

import { h, type Child, type VNode } from "./dom";
import { plain } from "./format";

export interface Page {
  title: string;
  view(): Child;
  leave?(): void;
  key?(key: string): boolean; // true: the page has handled it
}

const STATES: { [state: string]: string } = {
  queued: "Queued",
  running: "Running",
  cancelling: "Cancelling",
  waiting: "Waiting",
  paused: "Paused",
  succeeded: "Succeeded",
  failed: "Failed",
  cancelled: "Cancelled",
  // of webhooks
  pending: "Pending",
  sent: "Sent",
  dead: "Dead",
};

// How far something is, and in words.
export function meter(percent: number, label: string, note?: string): VNode {
  return h("span", { class: "progress" }, h("progress", { max: 100, value: percent, "aria-label": label }), note && ` ${plain(note)}`);
}

export function pill(state: string): VNode {
  return h("span", { class: `pill is-${state}` }, h("span", { class: "dot", "aria-hidden": "true" }), STATES[state] ?? state);
}

export function notice(kind: "error" | "info", text: string): VNode {
  return h("p", { class: `notice is-${kind}`, role: kind === "error" ? "alert" : "status" }, text);
}

export function empty(title: string, ...words: Child[]): VNode {
  return h("div", { class: "empty" }, h("h2", null, title), ...words);
}

export function heading(title: string, about: Child, ...more: Child[]): VNode {
  return h("header", { class: "page-head" }, h("div", { class: "page-title" }, h("h1", null, title), about && h("p", { class: "muted" }, about)), ...more);
}

// Does the user type there?  A field of a closed dialog keeps the focus until the next frame, but does
// not count.
export function isField(el: Element | null): boolean {
  return el !== null && el.closest("dialog:not([open])") === null && /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName) && (el as HTMLInputElement).type !== "range";
}

export async function copyText(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
}

export function copyButton(text: () => string, label = "Copy"): VNode {
  return h("button", {
    type: "button",
    class: "quiet",
    onclick: (event: Event) => {
      const button = event.currentTarget as HTMLElement;
      copyText(text()).then(() => "Copied", () => "Not allowed").then((word) => {
        button.textContent = word;
        setTimeout(() => (button.textContent = label), 1200);
      });
    },
  }, label);
}
