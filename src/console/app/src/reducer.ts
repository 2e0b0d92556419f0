// The one reducer: from records to everything that the page shows of a run.
//
//     s = begin();  take(s, record) for each, in order;  copy(s) to keep what it was then
//
// It knows no clock, no page and no connection: the same records give the same state, whether
// they came live, after a reconnect, or are folded up to some event by the scrubber.  `take`
// changes the state that it is handed, since a run has thousands of tokens and the page draws
// only once a frame; each run carries a number `v` that grows with every change of it or of
// what is inside it, by which the page sees what has to be drawn again.
//
// Runs are a tree.  What a card shows is in `items`, which three kinds of runs have: executions
// (the cards), tools, and sub-agents, which are graphs that run inside of an execution.  A run
// belongs to the nearest of them around it (its `box`).

import type { Json, JsonObject, Rec } from "./record";

export type RunKind = "graph" | "node" | "llm" | "tool" | "retriever";
export type RunStatus = "open" | "ok" | "error" | "cancelled" | "interrupted" | "retried";
export type JobStatus = "queued" | "running" | "cancelling" | "waiting" | "paused" | "succeeded" | "failed" | "cancelled";

export interface ToolCall {
  name: string;
  args: string;
}

export type Item =
  | { kind: "run"; id: string }
  | { kind: "message"; seq: number; role: string; text: string }
  | { kind: "note"; seq: number; title: string; text: string };

export interface Run {
  id: string;
  v: number;
  seq: number;
  kind: RunKind;
  name: string;
  node?: string;
  ns?: string;
  model?: string;
  section?: string;
  step?: number;
  attempt: number;
  parent?: string; // in the tree
  box?: string; // the card, tool or sub-agent that shows it
  children: string[];
  items?: Item[]; // of a box
  isTop: boolean;
  isSub: boolean;
  hasCard: boolean;
  hasPanel: boolean;
  start: number;
  end?: number;
  endSeq: number; // of the record that ended it; 0: none yet
  status: RunStatus;
  error?: string;
  errorType?: string;
  text: string;
  reasoning: string;
  calls: ToolCall[];
  input?: Json;
  output?: Json;
  preview?: string; // of a tool's input
  result?: string; // of what it gave
  percent?: number;
  note?: string;
  nChains: number; // of runs inside it
  nLlms: number;
  nTools: number;
  tokensIn: number;
  tokensOut: number;
}

export interface Section {
  key: string;
  v: number;
  name: string;
  exec: string;
  text: string;
  status: RunStatus;
}

export interface Question {
  id: string;
  seq: number;
  ts: number;
  value: Json;
  question: Json;
  context: Json;
  isOpen: boolean;
}

export interface Mark {
  seq: number;
  ts: number;
  kind: "error" | "interrupt" | "resume" | "retry" | "cancel";
  text: string;
}

export interface Todo {
  content: string;
  status: string;
}

export interface FileMade {
  name: string;
  content: string;
  seq: number;
  n: number; // how often it was written
}

export interface Source {
  url: string;
  title: string;
  isUsed: boolean;
}

export interface Output {
  seq: number;
  category: string;
  node: string;
  content: string;
}

export interface State {
  seq: number;
  first: number; // 1, or where what is left of an old job begins
  job: string;
  agent: string;
  attempt: number;
  status: JobStatus;
  outcome?: string;
  error?: string;
  errorType?: string;
  stderr?: string; // the last words of a process that failed
  start: number;
  ts: number; // of the last record
  end?: number;
  last: string; // what happened last, in a few words
  output?: Json;
  percent?: number;
  note?: string;
  meter?: string; // the box whose progress that is
  runs: Map<string, Run>;
  roots: string[];
  cards: string[];
  open: Map<string, string[]>; // namespace -> runs inside of which others may begin
  sections: Section[];
  questions: Question[];
  marks: Mark[];
  todos: Todo[];
  files: FileMade[];
  sources: Source[];
  outputs: Output[];
  report?: string;
  values?: Json; // the last whole state of the graph
  nLlms: number;
  nTools: number;
  nErrors: number;
  tokensIn: number;
  tokensOut: number;
}

export function begin(): State {
  return {
    seq: 0, first: 1, job: "", agent: "", attempt: 0, status: "queued", start: 0, ts: 0, last: "",
    runs: new Map(), roots: [], cards: [], open: new Map(), sections: [], questions: [], marks: [],
    todos: [], files: [], sources: [], outputs: [],
    nLlms: 0, nTools: 0, nErrors: 0, tokensIn: 0, tokensOut: 0,
  };
}

export function isFinal(status: string): boolean {
  return status === "succeeded" || status === "failed" || status === "cancelled";
}

function copyRun(r: Run): Run {
  return { ...r, children: [...r.children], items: r.items && [...r.items], calls: r.calls.map((c) => ({ ...c })) };
}

// What the worker sent (inputs, outputs, states) is never changed, and shared.
export function copy(s: State): State {
  return {
    ...s,
    runs: new Map(Array.from(s.runs, ([id, r]) => [id, copyRun(r)])),
    roots: [...s.roots],
    cards: [...s.cards],
    open: new Map(Array.from(s.open, ([ns, ids]) => [ns, [...ids]])),
    sections: s.sections.map((x) => ({ ...x })),
    questions: s.questions.map((x) => ({ ...x })),
    marks: [...s.marks],
    todos: [...s.todos],
    files: s.files.map((x) => ({ ...x })),
    sources: s.sources.map((x) => ({ ...x })),
    outputs: [...s.outputs],
  };
}

// --- small things ---

function asObject(value: Json | undefined): JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
}

function asText(value: Json | undefined): string {
  return typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
}

// The text of a message's content, which may be a list of parts.
export function contentText(content: Json | undefined): string {
  if (!Array.isArray(content)) return asText(content);
  return content.map((part) => asText(typeof part === "string" ? part : asObject(part).text)).join("");
}

function number(value: Json | undefined): number {
  return typeof value === "number" ? value : 0;
}

// The run has changed, and so has every box around it.
function touch(s: State, run: Run | undefined): void {
  for (let r = run; r; r = r.box === undefined ? undefined : s.runs.get(r.box)) r.v++;
}

// --- the tree ---

// Senders that do not say which run called which name the execution as the parent of all: then
// the namespaces tell, as long as only one thing is open there.
function nearest(s: State, rec: Rec): Run | undefined {
  for (let ns = rec.ns ?? ""; ns !== ""; ns = ns.slice(0, Math.max(0, ns.lastIndexOf("|")))) {
    const here = (s.open.get(ns) ?? []).map((id) => s.runs.get(id)!).filter((r) => r.id !== rec.run);
    if (here.length === 0) continue;
    const tools = here.filter((r) => r.kind === "tool");
    if (tools.length > 1) return here[0];
    if (rec.kind === "node.start") return here[here.length - 1];
    return rec.kind === "run.start" && tools.length === 1 ? tools[0] : here[0];
  }
  return undefined;
}

function isInside(s: State, run: Run | undefined, ancestor: Run): boolean {
  for (let r = run; r; r = r.parent === undefined ? undefined : s.runs.get(r.parent)) if (r === ancestor) return true;
  return false;
}

function findParent(s: State, rec: Rec): Run | undefined {
  const named = rec.parent === undefined ? undefined : s.runs.get(rec.parent);
  if (named && rec.parent !== rec.exec) return named;
  const near = rec.parents && named ? undefined : nearest(s, rec);
  if (near && (!named || (near !== named && isInside(s, near, named)))) return near;
  return named ?? (rec.exec !== rec.run ? s.runs.get(rec.exec ?? "") : undefined);
}

// The box that a run is shown in; the outermost run becomes a card when nothing else is one.
function findBox(s: State, parent: Run | undefined): Run | undefined {
  let outermost: Run | undefined;
  for (let r = parent; r; r = r.parent === undefined ? undefined : s.runs.get(r.parent)) {
    if (r.items) return r;
    outermost = r;
  }
  if (outermost) makeCard(s, outermost);
  return outermost;
}

function makeCard(s: State, run: Run): void {
  run.items = [];
  s.cards.push(run.id);
}

function putInBox(s: State, run: Run, parent: Run | undefined): void {
  const box = findBox(s, parent);
  if (!box) {
    makeCard(s, run);
    return;
  }
  run.box = box.id;
  box.items!.push({ kind: "run", id: run.id });
}

// A node at depth 1 is a step of its execution's own graph; one that is deeper, or whose graph has
// a name of its own, is a step of a sub-agent.
function noticeSubAgent(s: State, node: Run, rec: Rec): void {
  const depth = rec.depth ?? 0;
  const graph = node.parent === undefined ? undefined : s.runs.get(node.parent);
  if (depth < 1 || !graph || graph.kind !== "graph" || graph.items) return;
  if (depth === 1 && (graph.name === "LangGraph" || graph.name === node.node)) return;
  const around = graph.parent === undefined ? undefined : s.runs.get(graph.parent);
  graph.isSub = true;
  if (graph.name === "LangGraph" && around) graph.name = around.name;
  putInBox(s, graph, around);
  graph.items = [];
}

function count(s: State, run: Run): void {
  const field = run.kind === "llm" ? "nLlms" : run.kind === "tool" ? "nTools" : "nChains";
  for (let r = run.parent === undefined ? undefined : s.runs.get(run.parent); r;
    r = r.parent === undefined ? undefined : s.runs.get(r.parent)) r[field]++;
}

function startRun(s: State, rec: Rec, kind: RunKind): Run | undefined {
  const id = rec.run;
  if (id === undefined || s.runs.has(id)) return undefined;
  const parent = findParent(s, rec);
  const run: Run = {
    id, v: 0, seq: rec.seq, kind, name: rec.name ?? rec.node ?? kind, node: rec.node, ns: rec.ns, model: rec.model,
    section: rec.section, step: rec.step, attempt: s.attempt, parent: parent?.id, box: undefined, children: [], items: undefined,
    isTop: rec.top === true, isSub: false, hasCard: rec.card === true, hasPanel: rec.panel === true,
    start: rec.ts, endSeq: 0, status: "open", text: "", reasoning: "", calls: [], input: rec.input, preview: rec.preview,
    nChains: 0, nLlms: 0, nTools: 0, tokensIn: 0, tokensOut: 0,
  };
  s.runs.set(id, run);
  if (parent) parent.children.push(id);
  else s.roots.push(id);
  count(s, run);
  if (run.isTop) makeCard(s, run);
  else if (kind === "llm" || kind === "tool" || kind === "retriever") putInBox(s, run, parent);
  if (kind === "node" && !run.isTop) noticeSubAgent(s, run, rec);
  if (kind === "tool") run.items ??= [];
  if (rec.ns !== undefined && kind !== "llm" && kind !== "retriever") {
    const here = s.open.get(rec.ns);
    if (here) here.push(id);
    else s.open.set(rec.ns, [id]);
  }
  touch(s, run);
  return run;
}

function closeScope(s: State, run: Run): void {
  const here = run.ns === undefined ? undefined : s.open.get(run.ns);
  if (!here) return;
  const rest = here.filter((id) => id !== run.id);
  if (rest.length > 0) s.open.set(run.ns!, rest);
  else s.open.delete(run.ns!);
}

function endRun(s: State, rec: Rec): Run | undefined {
  const run = s.runs.get(rec.run ?? "");
  if (!run) return undefined;
  run.end = rec.ts;
  run.endSeq = rec.seq;
  run.status = (rec.status as RunStatus) ?? "ok";
  run.error = rec.error;
  run.errorType = rec.error_type;
  run.output = rec.output;
  closeScope(s, run);
  for (const x of s.sections) if (x.exec === run.id) endSection(x, run.status);
  if (s.meter === run.id) s.percent = s.note = s.meter = undefined;
  if (run.status === "error" && (run.isTop || run.kind === "tool" || run.kind === "llm")) {
    s.nErrors++;
    s.marks.push({ seq: rec.seq, ts: rec.ts, kind: "error", text: `${run.name}: ${rec.error ?? "failed"}` });
  }
  touch(s, run);
  return run;
}

// --- models ---

function panel(s: State, run: Run, name: string | undefined, text: string): void {
  if (!run.hasPanel || text === "") return;
  const exec = cardOf(s, run)?.id ?? run.id;
  const key = `${exec}/${name ?? ""}`;
  let section = s.sections.find((x) => x.key === key);
  if (!section) {
    section = { key, v: 0, name: name ?? "output", exec, text: "", status: "open" };
    s.sections.push(section);
  }
  section.text += text;
  section.v++;
}

function endSection(x: Section, status: RunStatus): void {
  if (x.status !== "open") return;
  x.status = status;
  x.v++;
}

export function cardOf(s: State, run: Run): Run | undefined {
  let r: Run = run;
  while (r.box !== undefined) r = s.runs.get(r.box)!;
  return r;
}

function takeChunks(run: Run, calls: Json | undefined): void {
  for (const each of Array.isArray(calls) ? calls : []) {
    const chunk = asObject(each);
    if (typeof chunk.name === "string" && chunk.name !== "") run.calls.push({ name: chunk.name, args: "" });
    const last = run.calls[run.calls.length - 1];
    if (last) last.args += asText(chunk.args);
  }
}

function takeDelta(s: State, rec: Rec): void {
  const run = s.runs.get(rec.run ?? "") ?? startRun(s, rec, "llm");
  if (!run) return;
  const text = rec.text ?? "";
  if (!rec.mirror) {
    run.text += text;
    run.reasoning += rec.reasoning ?? "";
    takeChunks(run, rec.calls);
  }
  panel(s, run, rec.mirror && rec.title !== undefined ? rec.title : run.section, text);
  touch(s, run);
}

function endModel(s: State, rec: Rec): void {
  const run = endRun(s, rec);
  if (!run) return;
  if (run.text === "" && rec.text) {
    run.text = rec.text;
    panel(s, run, run.section, rec.text);
  }
  if (run.reasoning === "") run.reasoning = rec.reasoning ?? "";
  if (Array.isArray(rec.calls)) {
    run.calls = rec.calls.map(asObject).map((c) => ({ name: asText(c.name), args: asText(c.args) }));
  }
  const usage = asObject(rec.usage);
  const tokensIn = number(usage.input_tokens);
  const tokensOut = number(usage.output_tokens);
  s.tokensIn += tokensIn;
  s.tokensOut += tokensOut;
  for (let r: Run | undefined = run; r; r = r.parent === undefined ? undefined : s.runs.get(r.parent)) {
    r.tokensIn += tokensIn;
    r.tokensOut += tokensOut;
  }
}

// --- what was made ---

function takeArtifact(s: State, rec: Rec): void {
  const data = asObject(rec.data);
  const content = contentText(data.content);
  if (data.type === "todo") {
    s.todos = (Array.isArray(data.content) ? data.content : []).map((t) =>
      ({ content: asText(asObject(t).content), status: asText(asObject(t).status) }));
  } else if (data.type === "file") {
    const name = rec.title ?? asText(data.name ?? data.path);
    const file = s.files.find((f) => f.name === name);
    if (file) Object.assign(file, { content, seq: rec.seq, n: file.n + 1 });
    else s.files.push({ name, content, seq: rec.seq, n: 1 });
  } else if (data.type === "citation_source" || data.type === "citation_use") {
    const url = asText(data.url ?? data.content);
    let source = s.sources.find((x) => x.url === url);
    if (!source) s.sources.push((source = { url, title: asText(data.title), isUsed: false }));
    if (data.type === "citation_use") source.isUsed = true;
  } else {
    const category = asText(data.output_category ?? data.type);
    s.outputs.push({ seq: rec.seq, category, node: rec.node ?? "", content });
    if (category === "final_report") s.report = content;
  }
}

// A message that was not streamed.  What a tool gave is shown with the tool.
function takeMessage(s: State, rec: Rec): void {
  const data = asObject(rec.data);
  const text = contentText(data.content);
  if (data.type === "tool" || text === "") return;
  const box = findBox(s, s.runs.get(rec.run ?? ""));
  if (!box) return;
  box.items!.push({ kind: "message", seq: rec.seq, role: asText(data.type) || "message", text });
  touch(s, box);
}

function takeNote(s: State, rec: Rec, title: string, text: string): void {
  const box = findBox(s, s.runs.get(rec.run ?? ""));
  if (!box) return;
  box.items!.push({ kind: "note", seq: rec.seq, title, text });
  touch(s, box);
}

function takeProgress(s: State, rec: Rec): void {
  const run = s.runs.get(rec.run ?? "");
  const box = run && findBox(s, run);
  s.percent = rec.percent;
  s.note = rec.note;
  s.meter = box?.id;
  if (!box) return;
  box.percent = rec.percent;
  box.note = rec.note;
  touch(s, box);
}

// --- the job ---

function takeQuestion(s: State, rec: Rec): void {
  const known = s.questions.find((q) => q.id === rec.id && q.isOpen);
  if (known) return;
  s.questions.push({
    id: rec.id ?? "", seq: rec.seq, ts: rec.ts, value: rec.data ?? null,
    question: rec.question ?? rec.data ?? null, context: rec.context ?? null, isOpen: true,
  });
  s.status = "waiting";
  s.marks.push({ seq: rec.seq, ts: rec.ts, kind: "interrupt", text: asText(rec.question ?? rec.data) });
}

function takeEnd(s: State, rec: Rec): void {
  s.status = (rec.status as JobStatus) ?? "succeeded";
  s.outcome = rec.outcome;
  s.error = rec.error ?? s.error;
  s.errorType = rec.error_type ?? s.errorType;
  s.stderr = rec.details?.stderr === undefined ? undefined : asText(rec.details.stderr);
  s.end = rec.ts;
  s.output = rec.output;
  for (const q of s.questions) q.isOpen = false;
}

function takeUpdate(s: State, rec: Rec): void {
  if (rec.attempt !== undefined) {
    s.attempt = rec.attempt;
    s.status = "queued";
    for (const q of s.questions) q.isOpen = false;
  }
  if (rec.attempt !== undefined || rec.title === "retry") {
    s.marks.push({ seq: rec.seq, ts: rec.ts, kind: "retry", text: rec.text ?? rec.title ?? "" });
  }
  if (rec.run !== undefined) takeNote(s, rec, rec.title ?? "update", rec.text ?? "");
}

const HANDLERS: { [kind: string]: (s: State, rec: Rec) => void } = {
  "job.start": (s, rec) => {
    s.job = rec.job ?? "";
    s.agent = rec.agent ?? "";
    s.attempt = rec.attempt ?? 1;
    s.start = rec.ts;
  },
  "job.end": takeEnd,
  "job.error": (s, rec) => {
    s.error = rec.error;
    s.errorType = rec.error_type;
    s.marks.push({ seq: rec.seq, ts: rec.ts, kind: "error", text: rec.error ?? "" });
  },
  "job.cancelled": (s, rec) => {
    s.error = rec.error;
    s.marks.push({ seq: rec.seq, ts: rec.ts, kind: "cancel", text: rec.error ?? "cancelled" });
  },
  "job.cancel_requested": (s) => {
    s.status = "cancelling";
  },
  "job.update": takeUpdate,
  "job.interrupt": takeQuestion,
  "job.paused": (s, rec) => {
    s.status = "paused";
    s.marks.push({ seq: rec.seq, ts: rec.ts, kind: "interrupt", text: "paused" });
  },
  "job.resumed": (s, rec) => {
    s.status = "queued";
    for (const q of s.questions) if (rec.resolves === undefined || rec.resolves.includes(q.id)) q.isOpen = false;
    s.marks.push({ seq: rec.seq, ts: rec.ts, kind: "resume", text: "resumed" });
  },
  "run.start": (s, rec) => void startRun(s, rec, "graph"),
  "run.end": (s, rec) => void endRun(s, rec),
  "run.info": (s, rec) => {
    const run = s.runs.get(rec.run ?? "");
    if (run) Object.assign(run, { name: rec.name ?? run.name, section: rec.section, model: rec.model ?? run.model });
    touch(s, run);
  },
  "node.start": (s, rec) => void startRun(s, rec, "node"),
  "node.end": (s, rec) => void endRun(s, rec),
  "llm.start": (s, rec) => {
    if (startRun(s, rec, "llm")) s.nLlms++;
  },
  "llm.delta": takeDelta,
  "llm.end": endModel,
  "tool.start": (s, rec) => {
    if (startRun(s, rec, "tool")) s.nTools++;
  },
  "tool.end": (s, rec) => {
    const run = endRun(s, rec);
    if (run) run.result = rec.preview;
  },
  "retriever.start": (s, rec) => void startRun(s, rec, "retriever"),
  "retriever.end": (s, rec) => void endRun(s, rec),
  "message": takeMessage,
  "section.end": (s, rec) => {
    for (const x of s.sections) {
      if (x.name === rec.text && (rec.exec === undefined || x.exec === rec.exec)) {
        endSection(x, "ok");
      }
    }
  },
  "artifact": takeArtifact,
  "custom": (s, rec) => takeNote(s, rec, rec.title ?? "custom", asText(rec.data)),
  "progress": takeProgress,
  "state.values": (s, rec) => {
    s.values = rec.data;
  },
};

function words(rec: Rec): string {
  const what = rec.name ?? rec.title ?? rec.node ?? "";
  return what === "" ? rec.kind : `${rec.kind} · ${what}`;
}

// False when it was there already, or when one before it is missing.
export function take(s: State, rec: Rec): boolean {
  if (rec.seq <= s.seq) return false;
  if (s.seq === 0) s.first = rec.seq;
  else if (rec.seq !== s.seq + 1) return false;
  s.seq = rec.seq;
  s.ts = rec.ts;
  if (s.start === 0) s.start = rec.ts;
  if (rec.kind !== "llm.delta" && rec.kind !== "run.stream") s.last = words(rec);
  if (s.status === "queued" && !rec.kind.startsWith("job.")) s.status = "running";
  HANDLERS[rec.kind]?.(s, rec);
  return true;
}
