import assert from "node:assert/strict";
import { test } from "node:test";

import { load, recordings, records } from "./app.mjs";

const { begin, copy, take } = await load("reducer.ts");
const { slim } = await load("record.ts");
const { History } = await load("history.ts");

function fold(list) {
  const s = begin();
  for (const rec of list) assert.ok(take(s, rec), `record ${rec.seq}`);
  return s;
}

// Of two states; thousands of times, so without the words that deepEqual would have.
function isSame(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (a instanceof Map) return b instanceof Map && a.size === b.size && [...a].every(([key, value]) => isSame(value, b.get(key)));
  if (Array.isArray(a) && (!Array.isArray(b) || a.length !== b.length)) return false;
  for (const name in a) if (!isSame(a[name], b[name])) return false;
  for (const name in b) if (b[name] !== undefined && !(name in a)) return false;
  return true;
}

function same(a, b, words) {
  if (!isSame(a, b)) assert.deepEqual(a, b, words); // which says where
}

for (const recording of recordings) {
  const all = records(recording).map(slim);

  // For every prefix.  That the next record leads a reader that was cut off to where one that
  // stayed is, from every place, is that all of the rest does.
  test(`${recording}: a reader that resumed has what one that stayed has`, () => {
    const stayed = begin();
    const apart = begin(); // has never been copied
    for (const rec of all) {
      const kept = copy(stayed); // what a page had when its connection was cut
      assert.ok(take(stayed, rec));
      same(kept, apart, `kept after ${apart.seq}`);
      for (let again = Math.max(0, kept.seq - 3); again < kept.seq; again++) assert.equal(take(kept, all[again]), false); // the last ones come twice
      assert.ok(take(kept, structuredClone(rec)));
      same(kept, stayed, `resumed after ${apart.seq}`);
      assert.ok(take(apart, rec));
    }
    same(stayed, apart);
  });

  test(`${recording}: the scrubber finds what was seen live`, () => {
    const history = new History();
    for (const rec of all) assert.ok(history.add(rec));
    const seen = begin();
    for (const rec of all) {
      take(seen, rec);
      same(history.at(rec.seq), seen, `at ${rec.seq}`);
      if (rec.seq % Math.ceil(all.length / 100) === 0) history.at(all.length - rec.seq); // there and back
    }
  });
}

test("a record that is missing is noticed, and one that came is not taken twice", () => {
  const all = records("g-send-fanout.ndjson");
  const s = fold(all.slice(0, 10));
  const before = copy(s);
  assert.equal(take(s, all[11]), false);
  assert.equal(take(s, all[4]), false);
  assert.deepEqual(s, before);
  assert.equal(take(s, all[10]), true);
});

// --- what the state says ---

function cards(s) {
  return s.cards.map((id) => s.runs.get(id));
}

test("a node that is visited twice has two cards, and so has one that runs twice at once", () => {
  const visits = (recording, node) => cards(fold(records(recording))).filter((c) => c.name === node);
  const supervisor = visits("a-supervisor-1-until-interrupt.ndjson", "investigator");
  assert.equal(supervisor.length, 2);
  assert.ok(supervisor[0].end <= supervisor[1].start);
  const fanned = cards(fold(records("g-send-fanout.ndjson")));
  const names = new Map();
  for (const c of fanned) names.set(c.name, (names.get(c.name) ?? 0) + 1);
  assert.ok([...names.values()].some((n) => n > 1), JSON.stringify([...names]));
});

test("what a sub-agent does is inside it, and it is inside its tool", () => {
  const s = fold(records("b-react-nested.ndjson"));
  const sub = [...s.runs.values()].find((r) => r.isSub);
  assert.equal(sub.name, "ask_agent");
  const box = s.runs.get(sub.box);
  assert.deepEqual([box.kind, box.name], ["tool", "ask"]);
  assert.ok(sub.items.length > 0);
  assert.deepEqual(s.cards.map((id) => s.runs.get(id).isTop), s.cards.map(() => true));
});

test("a question is open until it is answered", () => {
  const s = fold(records("a-supervisor-1-until-interrupt.ndjson"));
  assert.equal(s.questions.length, 1);
  const seq = s.seq;
  take(s, { seq: seq + 1, ts: s.ts + 1, kind: "job.resumed", resolves: [s.questions[0].id] });
  assert.deepEqual([s.questions[0].isOpen, s.status], [false, s.status]);
});

test("a failure says where, and a text is what its tokens were", () => {
  const s = fold(records("c-node-throws.ndjson"));
  assert.equal(s.status, "failed");
  assert.ok(s.marks.some((m) => m.kind === "error"));
  assert.ok(cards(s).some((c) => c.status === "error" && c.error));
  const all = records("e-big.ndjson.gz");
  const big = fold(all);
  const texts = new Map();
  for (const r of all) if (r.kind === "llm.delta" && !r.mirror) texts.set(r.run, (texts.get(r.run) ?? "") + (r.text ?? ""));
  for (const [run, text] of texts) assert.equal(big.runs.get(run).text, text);
});

test("a process that failed is shown with its last words", () => {
  const start = { seq: 1, ts: 1, kind: "job.start", job: "j", agent: "a", attempt: 1 };
  const end = { seq: 2, ts: 2, kind: "job.end", status: "failed", error: "no", error_type: "ValueError" };
  const s = fold([start, { ...end, details: { exit_status: 1, stderr: "Traceback\nValueError: no" } }]);
  assert.deepEqual([s.error, s.errorType, s.stderr], ["no", "ValueError", "Traceback\nValueError: no"]);
  assert.equal(fold([start, end]).stderr, undefined);
  assert.equal(fold([start, { ...end, details: { url: "x" } }]).stderr, undefined);
});

test("a section is being written until it is said to be complete, or its execution is over", () => {
  for (const recording of recordings) {
    const s = fold(records(recording));
    for (const x of s.sections) assert.ok(x.status !== "open" || s.runs.get(x.exec).status === "open", `${recording}: ${x.key}`);
  }
});

test("every run is in the tree once, and every item in one box", () => {
  for (const recording of recordings) {
    const s = fold(records(recording));
    const seen = [];
    const walk = (id) => {
      seen.push(id);
      s.runs.get(id).children.forEach(walk);
    };
    s.roots.forEach(walk);
    assert.equal(seen.length, s.runs.size, recording);
    assert.equal(new Set(seen).size, s.runs.size, recording);
    const items = [...s.runs.values()].flatMap((r) => r.items ?? []).filter((i) => i.kind === "run").map((i) => i.id);
    assert.equal(new Set(items).size, items.length, recording);
    for (const r of s.runs.values()) if (r.kind === "llm" || r.kind === "tool") assert.ok(items.includes(r.id) || s.cards.includes(r.id), `${recording}: ${r.name}`);
  }
});
