// Markdown as descriptions of elements: what models write, not all of CommonMark.
//
// Unknown syntax stays text.  Links may go to http and https only, in a new tab without access to
// this one (noopener, noreferrer).  A text that grows is split at blank lines, and only its last
// piece is parsed again.

import { h, type Child, type VNode } from "./dom";
import { plain } from "./format";

const INLINE = /(?<!`)(`{1,8})(?!`)(.{1,1000}?)(?<!`)\1(?!`)|\*\*(?=\S)(.{1,1000}?)\*\*|__(?=\S)(.{1,1000}?)__|\*([^\s*][^*]{0,1000}?)\*|\b_([^_]{1,1000})_\b|~~(.{1,1000}?)~~|\[([^\]\[]{0,500})\]\(([^()\s]{1,2000})(?:\s+"[^"]{0,200}")?\)|(https?:\/\/[^\s<>()\[\]"'`]{0,2000}[^\s<>()\[\]"'`.,;:!?])/g;

export function link(url: string, text: Child): Child {
  if (!/^https?:\/\//i.test(url)) return text;
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, text);
}

export function inline(text: string, depth = 0): Child[] {
  const out: Child[] = [];
  let at = 0;
  if (depth > 4) return [text];
  for (const m of text.matchAll(INLINE)) {
    if (m.index > at) out.push(text.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[2] !== undefined) out.push(h("code", null, m[2]));
    else if ((m[3] ?? m[4]) !== undefined) out.push(h("strong", null, inline(m[3] ?? m[4], depth + 1)));
    else if ((m[5] ?? m[6]) !== undefined) out.push(h("em", null, inline(m[5] ?? m[6], depth + 1)));
    else if (m[7] !== undefined) out.push(h("s", null, inline(m[7], depth + 1)));
    else if (m[9] !== undefined) out.push(/^https?:\/\//i.test(m[9]) ? link(m[9], inline(m[8], depth + 1)) : m[0]);
    else out.push(link(m[10], m[10]));
  }
  if (at < text.length) out.push(text.slice(at));
  return out;
}

// --- blocks ---

const FENCE = /^\s{0,3}(```+|~~~+)\s*([\w+-]*)/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const DEEPEST = 8; // blocks inside of blocks
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;

function list(lines: string[], from: number, depth: number): [VNode, number] {
  const first = ITEM.exec(lines[from])!;
  const indent = first[1].length;
  const isOrdered = /\d/.test(first[2]);
  const items: VNode[] = [];
  let at = from;
  while (at < lines.length) {
    const m = ITEM.exec(lines[at]);
    if (!m || m[1].length < indent || /\d/.test(m[2]) !== isOrdered) break;
    const task = /^\[([ xX])\]\s+(.*)$/.exec(m[3]);
    const words = [task ? task[2] : m[3]];
    const inner: string[] = [];
    for (at++; at < lines.length; at++) {
      const next = ITEM.exec(lines[at]);
      if (next && next[1].length <= indent) break;
      if (next || inner.length > 0) inner.push(lines[at]);
      else words.push(lines[at].trim());
    }
    items.push(h("li", null, task && (task[1] === " " ? "☐ " : "☑ "), inline(words.join(" ")), inner.length > 0 && blocks(inner, depth + 1)));
  }
  return [h(isOrdered ? "ol" : "ul", isOrdered ? { start: parseInt(first[2], 10) } : null, items), at];
}

function cells(line: string): string[] {
  return line.trim().replace(/^\||\|$/g, "").split("|").map((c) => c.trim());
}

function table(lines: string[], from: number): [VNode, number] {
  const rows: VNode[] = [];
  let at = from + 2;
  for (; at < lines.length && lines[at].includes("|"); at++) {
    rows.push(h("tr", null, cells(lines[at]).map((c) => h("td", null, inline(c)))));
  }
  const head = h("thead", null, h("tr", null, cells(lines[from]).map((c) => h("th", null, inline(c)))));
  return [h("div", { class: "scroll-x" }, h("table", null, head, h("tbody", null, rows))), at];
}

function starts(lines: string[], i: number): boolean {
  const line = lines[i];
  return FENCE.test(line) || ITEM.test(line) || RULE.test(line) || /^\s{0,3}(#{1,6}\s|>)/.test(line) || isTable(lines, i);
}

function isTable(lines: string[], i: number): boolean {
  return lines[i].includes("|") && i + 1 < lines.length && /^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$/.test(lines[i + 1]) && lines[i + 1].includes("|");
}

function blocks(lines: string[], depth = 0): VNode[] {
  const out: VNode[] = [];
  if (depth > DEEPEST) return [h("p", null, lines.join("\n"))];
  let i = 0;
  while (i < lines.length) {
    const line = lines[i];
    const fence = FENCE.exec(line);
    const heading = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
    if (line.trim() === "") i++;
    else if (fence) {
      const body: string[] = [];
      for (i++; i < lines.length && !lines[i].trim().startsWith(fence[1]); i++) body.push(lines[i]);
      i++;
      out.push(h("pre", { tabindex: "0" }, h("code", null, body.join("\n"))));
    } else if (heading) {
      // Levels 1 and 2 are the page's own headings.
      out.push(h(`h${Math.min(6, heading[1].length + 2)}`, { class: `md-h${heading[1].length}` }, inline(heading[2])));
      i++;
    } else if (RULE.test(line)) {
      out.push(h("hr", null));
      i++;
    } else if (/^\s{0,3}>/.test(line)) {
      const body: string[] = [];
      for (; i < lines.length && /^\s{0,3}>/.test(lines[i]); i++) body.push(lines[i].replace(/^\s{0,3}>\s?/, ""));
      out.push(h("blockquote", null, blocks(body, depth + 1)));
    } else if (ITEM.test(line)) {
      const [node, next] = list(lines, i, depth);
      out.push(node);
      i = next;
    } else if (isTable(lines, i)) {
      const [node, next] = table(lines, i);
      out.push(node);
      i = next;
    } else {
      const body = [line];
      for (i++; i < lines.length && lines[i].trim() !== "" && !starts(lines, i); i++) body.push(lines[i]);
      out.push(h("p", null, body.flatMap((l, n) => (n > 0 ? [h("br", null), ...inline(l)] : inline(l)))));
    }
  }
  return out;
}

// Pieces between blank lines; what is in a fence, and a list with its blank lines, is one piece.
function pieces(text: string): string[] {
  const out: string[] = [];
  let now: string[] = [];
  let fence = "";
  for (const line of text.split("\n")) {
    const m = FENCE.exec(line);
    if (fence !== "") {
      if (line.trim().startsWith(fence)) fence = "";
    } else if (m) fence = m[1];
    else if (line.trim() === "" && now.length > 0) {
      out.push(now.join("\n"));
      now = [];
    }
    now.push(line);
  }
  out.push(now.join("\n"));
  return out;
}

export class Markdown {
  private kept: { piece: string; node: VNode }[] = [];

  view(text: string): VNode {
    this.kept = pieces(plain(text)).map((piece, i) => {
      const before = this.kept[i];
      return before && before.piece === piece ? before : { piece, node: h("div", { key: i }, blocks(piece.split("\n"))) };
    });
    return h("div", { class: "markdown" }, this.kept.map((k) => k.node));
  }
}
