// Text that grows: in pieces of some kilobytes, so that a token lays out only the last of them.

import { h, type VNode } from "../dom";
import { plain, whole } from "../format";

const PIECE = 4000;
const MOST = 8000;

interface Grown {
  ends: number[]; // of the pieces that are complete
  nodes: VNode[];
}

export class Texts {
  private readonly known = new Map<string, Grown>();

  private grow(key: string, text: string): Grown {
    let g = this.known.get(key);
    if (!g) this.known.set(key, (g = { ends: [], nodes: [] }));
    for (;;) {
      const from = g.ends.at(-1) ?? 0;
      if (text.length - from < MOST) return g;
      const line = text.indexOf("\n", from + PIECE);
      g.ends.push(line >= 0 && line < from + MOST ? line + 1 : whole(text, from + MOST));
      const end = g.ends.at(-1)!;
      g.nodes.push(piece(g.nodes.length, text.slice(from, end)));
    }
  }

  // @text is the text of @key up to some moment: it only ever grows.
  view(key: string, text: string, name: string): VNode {
    const g = this.grow(key, text);
    let n = g.ends.length;
    while (n > 0 && g.ends[n - 1] > text.length) n--;
    const from = n > 0 ? g.ends[n - 1] : 0;
    return h("div", { class: name, dir: "auto" }, g.nodes.slice(0, n), h("span", { key: n }, plain(text.slice(from))));
  }
}

// One that does not end with its line runs on into the next.
function piece(key: number, text: string): VNode {
  const isWhole = text.endsWith("\n");
  return h(isWhole ? "div" : "span", { key }, plain(isWhole ? text.slice(0, -1) : text));
}
