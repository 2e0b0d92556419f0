// A small virtual DOM: h() describes elements, patch() changes the page to match.
//
// The page draws once a frame from the state as it is then, so all that is needed is: keep the
// elements that are still described (by key where there is one), change what differs, and append
// to a text that has only grown.  A description that is the very same object as the last time is
// left alone; `Memo` is how parts of a page become that.
//
// Text is never parsed as markup, so nothing that an agent sends can become HTML.

export type Child = VNode | string | number | null | undefined | false | Child[];
export type Props = { [name: string]: unknown };

export interface VNode {
  tag: string; // "" is a text
  key: string | number | undefined;
  props: Props;
  children: VNode[];
  text: string;
  el: Node | undefined;
}

const NONE: Props = {};
const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "rect", "line", "path", "text", "title", "circle", "polyline", "polygon", "clipPath", "defs"]);
// These are set as properties of the element, not as attributes.
const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "hidden", "open", "indeterminate"]);

function flatten(children: Child[], out: VNode[]): VNode[] {
  for (const child of children) {
    if (Array.isArray(child)) flatten(child, out);
    else if (typeof child === "string" || typeof child === "number") {
      out.push({ tag: "", key: undefined, props: NONE, children: [], text: String(child), el: undefined });
    } else if (child) out.push(child);
  }
  return out;
}

export function h(tag: string, props: Props | null, ...children: Child[]): VNode {
  const given = props ?? NONE;
  return { tag, key: given.key as string | undefined, props: given, children: flatten(children, []), text: "", el: undefined };
}

// --- elements ---

type Handlers = { [name: string]: EventListener | undefined };
const handlers = new WeakMap<Element, Handlers>();

function setHandler(el: Element, name: string, handler: unknown): void {
  let mine = handlers.get(el);
  if (!mine) handlers.set(el, (mine = {}));
  const type = name.slice(2).toLowerCase();
  if (!(type in mine)) el.addEventListener(type, (event) => handlers.get(el)?.[type]?.(event));
  mine[type] = handler as EventListener | undefined;
}

function setStyle(el: Element, style: { [name: string]: string }, before: { [name: string]: string }): void {
  const target = (el as HTMLElement).style;
  for (const name in before) if (!(name in style)) target.removeProperty(name);
  for (const name in style) if (style[name] !== before[name]) target.setProperty(name, style[name]);
}

function setProp(el: Element, name: string, value: unknown, before: unknown): void {
  if (name === "key" || name === "ref") return;
  if (name.startsWith("on")) {
    if (value !== before) setHandler(el, name, value);
  } else if (name === "style") {
    setStyle(el, (value ?? NONE) as { [name: string]: string }, (before ?? NONE) as { [name: string]: string });
  } else if (PROPERTIES.has(name)) {
    const target = el as unknown as Props;
    // The user may have typed meanwhile: keep the input unless our own value has changed.
    if (value !== before && target[name] !== value) target[name] = value ?? (name === "value" ? "" : false);
  } else if (value !== before) {
    if (value === undefined || value === null || value === false) el.removeAttribute(name);
    else el.setAttribute(name, value === true ? "" : String(value));
  }
}

function create(node: VNode): Node {
  if (node.tag === "") return (node.el = document.createTextNode(node.text));
  const el = SVG_TAGS.has(node.tag) ? document.createElementNS(SVG, node.tag) : document.createElement(node.tag);
  node.el = el;
  for (const child of node.children) el.appendChild(create(child));
  for (const name in node.props) setProp(el, name, node.props[name], undefined);
  (node.props.ref as ((el: Element) => void) | undefined)?.(el);
  return el;
}

function isSame(a: VNode, b: VNode): boolean {
  return a.tag === b.tag && a.key === b.key;
}

function change(before: VNode, after: VNode): void {
  if (before === after) return;
  const el = (after.el = before.el!);
  if (after.tag === "") {
    if (after.text === before.text) return;
    if (after.text.startsWith(before.text)) (el as Text).appendData(after.text.slice(before.text.length));
    else (el as Text).data = after.text;
    return;
  }
  patch(el as Element, before.children, after.children);
  for (const name in before.props) if (!(name in after.props)) setProp(el as Element, name, undefined, before.props[name]);
  for (const name in after.props) setProp(el as Element, name, after.props[name], before.props[name]);
}

// --- children ---

export function patch(parent: Element, before: VNode[], after: VNode[]): void {
  let start = 0;
  let endB = before.length;
  let endA = after.length;
  while (start < endB && start < endA && isSame(before[start], after[start])) {
    change(before[start], after[start]);
    start++;
  }
  while (endB > start && endA > start && isSame(before[endB - 1], after[endA - 1])) change(before[--endB], after[--endA]);
  if (start === endB) {
    const next = endA < after.length ? after[endA].el! : null;
    for (let i = start; i < endA; i++) parent.insertBefore(create(after[i]), next);
    return;
  }
  patchMiddle(parent, before.slice(start, endB), after.slice(start, endA), endA < after.length ? after[endA].el! : null);
}

function patchMiddle(parent: Element, before: VNode[], after: VNode[], end: Node | null): void {
  const byKey = new Map<string, VNode>();
  before.forEach((node, i) => byKey.set(node.key === undefined ? `#${i}` : `${node.tag}:${node.key}`, node));
  const used = new Set<VNode>();
  after.forEach((node, i) => {
    const old = byKey.get(node.key === undefined ? `#${i}` : `${node.tag}:${node.key}`);
    if (old && isSame(old, node) && !used.has(old)) {
      used.add(old);
      change(old, node);
    } else create(node);
  });
  for (const node of before) if (!used.has(node) && node.el!.parentNode === parent) parent.removeChild(node.el!);
  let next = end;
  for (let i = after.length - 1; i >= 0; i--) {
    const el = after[i].el!;
    if (el.parentNode !== parent || el.nextSibling !== next) parent.insertBefore(el, next);
    next = el;
  }
}

// Parts of a page that are described again only when their version changes.
export class Memo {
  private readonly parts = new Map<string, { version: string; node: VNode }>();

  get(key: string, version: string, make: () => VNode): VNode {
    const kept = this.parts.get(key);
    if (kept && kept.version === version) return kept.node;
    const node = make();
    this.parts.set(key, { version, node });
    return node;
  }
}

// --- one draw a frame ---

let root: { el: Element; nodes: VNode[]; view: () => Child } | undefined;
let isDue = false;
const after: (() => void)[] = [];

function draw(): void {
  isDue = false;
  if (!root) return;
  const nodes = flatten([root.view()], []);
  patch(root.el, root.nodes, nodes);
  root.nodes = nodes;
  for (const f of after.splice(0)) f();
}

export function mount(el: Element, view: () => Child): void {
  root = { el, nodes: [], view };
  redraw();
}

export function redraw(): void {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(draw);
}

// Calls @f once, after the next draw.
export function afterDraw(f: () => void): void {
  after.push(f);
}
