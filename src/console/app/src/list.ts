// A virtual list: only the visible rows are in the DOM.

import { h, redraw, type Child, type VNode } from "./dom";

const MORE = 6; // rows above and below

export class VirtualList {
  private el: HTMLElement | undefined;
  private top = 0;
  private height = 600;
  private isAtEnd = true;
  first = 0; // of the rows that were drawn last
  last = 0;

  // @follows: it scrolls with new rows while the user is at its end.
  constructor(private readonly follows = false) {}

  private readonly measure = (): void => {
    if (!this.el) return;
    this.top = this.el.scrollTop;
    this.height = this.el.clientHeight;
    this.isAtEnd = this.top + this.height >= this.el.scrollHeight - 8;
    redraw();
  };

  private readonly take = (el: Element): void => {
    this.el = el as HTMLElement;
    new ResizeObserver(this.measure).observe(el);
  };

  show(index: number, rowHeight: number): void {
    if (!this.el) return;
    if (index * rowHeight < this.el.scrollTop) this.el.scrollTop = index * rowHeight;
    else if ((index + 1) * rowHeight > this.el.scrollTop + this.el.clientHeight) {
      this.el.scrollTop = (index + 1) * rowHeight - this.el.clientHeight;
    }
  }

  view(props: { [name: string]: unknown }, n: number, rowHeight: number, row: (index: number) => Child): VNode {
    if (this.follows && this.isAtEnd && this.el) {
      this.top = Math.max(0, n * rowHeight - this.height);
      const el = this.el;
      queueMicrotask(() => requestAnimationFrame(() => (el.scrollTop = el.scrollHeight)));
    }
    this.first = Math.max(0, Math.floor(this.top / rowHeight) - MORE);
    this.last = Math.min(n, Math.ceil((this.top + this.height) / rowHeight) + MORE);
    const rows: Child[] = [];
    for (let i = this.first; i < this.last; i++) rows.push(row(i));
    return h("div", { ...props, onscroll: this.measure, ref: this.take },
      h("div", { class: "virtual", style: { height: `${n * rowHeight}px` } },
        h("div", { class: "virtual-rows", style: { transform: `translateY(${this.first * rowHeight}px)` } }, rows)));
  }
}
