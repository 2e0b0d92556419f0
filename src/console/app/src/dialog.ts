// A dialog over the page.
//
// The browser can close a dialog (Escape), and its event comes a moment later.  Each opening is a new
// element, so that a late event of the last one does not close this one.

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

// While a dialog is open it gets all keys.
export function hasDialog(): boolean {
  return document.querySelector("dialog[open]") !== null;
}
