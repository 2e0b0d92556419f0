// A record, as the dialect `raw` has it (docs/record.md).

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface Rec {
  seq: number;
  ts: number;
  kind: string;
  // The constant part of a run.
  run?: string;
  parent?: string;
  exec?: string;
  node?: string;
  ns?: string;
  name?: string;
  type?: string;
  section?: string;
  model?: string;
  path?: string;
  step?: number;
  depth?: number;
  root?: boolean;
  top?: boolean;
  card?: boolean;
  panel?: boolean;
  derived?: boolean;
  parents?: string[];
  meta?: JsonObject;
  tags?: Json;
  // Of the record itself.
  job?: string;
  agent?: string;
  attempt?: number;
  id?: string;
  title?: string;
  status?: string;
  outcome?: string;
  phase?: string;
  details?: { stderr?: Json };
  error?: string;
  error_type?: string;
  elapsed?: number;
  message?: string;
  text?: string;
  reasoning?: string;
  index?: number;
  mirror?: boolean;
  call?: string;
  preview?: string;
  note?: string;
  count?: number;
  chains?: number;
  llms?: number;
  tools?: number;
  percent?: number;
  calls?: Json;
  usage?: JsonObject;
  input?: Json;
  output?: Json;
  data?: Json;
  question?: Json;
  context?: Json;
  resolves?: string[];
}

// Most records are tokens, and each repeats kilobytes of its run's constant part, which is
// known from the run's start: only the rest is kept.
export function slim(rec: Rec): Rec {
  if (rec.kind === "llm.delta") {
    const { seq, ts, kind, run, text, reasoning, calls, mirror, title } = rec;
    return { seq, ts, kind, run, text, reasoning, calls, mirror, title };
  }
  if (rec.kind === "run.stream" || rec.kind === "state.debug" || rec.kind === "state.tasks") {
    return { seq: rec.seq, ts: rec.ts, kind: rec.kind, run: rec.run };
  }
  return rec;
}
