// A dialog over the page.
//
// The browser closes one by itself, and says so a moment later: each opening is an element of its
// own, so that what is said of the last one is not taken for this one.

import { afterDraw, h, redraw, type Child } from "./dom";

export class Dialog {
  private n = 0;
  private isOpen = false;

  // @name: also the start of its title's id.
  constructor(private readonly name: string) {}

  open(): void {
    this.n++;
    this.isOpen = true;
    redraw();
  }

  close(): void {
    this.isOpen = false;
    redraw();
  }

  view(make: () => Child): Child {
    const { n } = this;
    return this.isOpen && h("dialog", {
      key: `${this.name}-${n}`, class: "dialog", "aria-labelledby": `${this.name}-title`,
      ref: (el: Element) => afterDraw(() => el.isConnected && (el as HTMLDialogElement).showModal()),
      onclose: () => {
        if (n === this.n) this.close();
      },
    }, make());
  }
}

// Keys belong to a dialog as long as there is one.
export function hasDialog(): boolean {
  return document.querySelector("dialog[open]") !== null;
}
