// What somebody has opened, closed and chosen on a run's page; nothing of it comes from records.

import { h, redraw, type Child, type VNode } from "../dom";

export class Ui {
  private readonly toggled = new Map<string, boolean>();
  v = 0;

  is(key: string, otherwise: boolean): boolean {
    return this.toggled.get(key) ?? otherwise;
  }

  set(key: string, value: boolean): void {
    if (this.toggled.get(key) === value) return;
    this.toggled.set(key, value);
    this.v++;
    redraw();
  }

  // A collapsed part of the page; its content is made only when it is open.
  fold(key: string, label: Child, make: () => Child, otherwise = false): VNode {
    const isOpen = this.is(key, otherwise);
    const toggle = (e: Event): void => {
      e.preventDefault(); // our state decides what is open, not the browser
      this.set(key, !isOpen);
    };
    return h("details", { class: "fold", open: isOpen }, h("summary", { onclick: toggle }, label), isOpen && make());
  }
}
