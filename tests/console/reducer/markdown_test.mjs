import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./app.mjs";

const { Markdown } = await load("markdown.ts");
const { duration, plain } = await load("format.ts");

// The description as a line: (tag text (tag …)).
function line(node) {
  if (node.tag === "") return node.text;
  const href = node.props.href ? ` ${node.props.href}` : "";
  return `(${node.tag}${href} ${node.children.map(line).join("")})`;
}

function of(text) {
  return new Markdown().view(text).children.flatMap((d) => d.children).map(line).join("");
}

test("what models write", () => {
  assert.equal(of("# A `b`\n\ntext **bold** and *more*"), "(h3 A (code b))(p text (strong bold) and (em more))");
  assert.equal(of("- a\n- b\n  - c\n1. d"), "(ul (li a)(li b(ul (li c))))(ol (li d))");
  assert.equal(of("```js\nlet x = '<b>';\n\n# no\n```\nend"), "(pre (code let x = '<b>';\n\n# no))(p end)");
  assert.equal(of("| a | b |\n|---|---|\n| 1 | 2 |"), "(div (table (thead (tr (th a)(th b)))(tbody (tr (td 1)(td 2)))))");
  assert.equal(of("> a\n> b"), "(blockquote (p a(br )b))");
});

test("links are http or https, and the rest is text", () => {
  assert.equal(of("[a](https://x.org/?q=1)"), "(p (a https://x.org/?q=1 a))");
  assert.equal(of("see https://x.org/a."), "(p see (a https://x.org/a https://x.org/a).)");
  for (const url of ["javascript:alert(1)", "data:text/html,x", "//x.org", "vbscript:x", "JaVaScRiPt:alert(1)"]) {
    assert.equal(of(`[a](${url})`).includes("(a "), false, url);
  }
  assert.equal(of("<script>alert(1)</script><img src=x onerror=alert(1)>"), "(p <script>alert(1)</script><img src=x onerror=alert(1)>)");
});

test("a text that grows gives what the whole gives", () => {
  const text = "# Title\n\nSome *words* and\nmore.\n\n```\ncode\n\nmore\n```\n\n- a\n\n- b\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend";
  const growing = new Markdown();
  for (let n = 1; n <= text.length; n++) {
    const now = growing.view(text.slice(0, n)).children.flatMap((d) => d.children).map(line).join("");
    assert.equal(now, of(text.slice(0, n)), `after ${n}`);
  }
});

test("hostile texts end", () => {
  for (const text of ["*".repeat(20000), "[".repeat(20000), "> ".repeat(5000), "`".repeat(20001), "- ".repeat(3000), "|".repeat(20000), "_a".repeat(10000), "**a".repeat(8000),
    Array.from({ length: 2000 }, (_, i) => " ".repeat(i) + "- a").join("\n")]) {
    const start = process.cpuUsage(); // whatever else the machine does
    new Markdown().view(text);
    const ms = process.cpuUsage(start).user / 1000;
    assert.ok(ms < 1000, `${text.slice(0, 10)}: ${ms} ms`);
  }
});

test("the marks of a ruler differ, however close they are", () => {
  for (const from of [0, 950, 1000, 59_000, 3_599_000]) {
    for (const by of [0.05, 0.5, 1, 5, 20, 50, 100, 500, 1000, 30_000, 600_000]) {
      const marks = Array.from({ length: 8 }, (_, i) => duration((Math.ceil(from / by) + i) * by, by));
      assert.equal(new Set(marks).size, marks.length, marks.join());
    }
  }
  assert.deepEqual([1050, 61_000, 3_700_000].map((ms) => duration(ms)), ["1.1 s", "1 min 1 s", "1 h 1 min"]);
});

test("what cannot be seen is made visible", () => {
  assert.equal(plain("a\u0000b\u001bc\u202ed\u2066e\r\nf\tg"), "a␀b␛c‹202E›d‹2066›e\nf\tg");
  assert.equal(plain("👩‍💻 שלום"), "👩‍💻 שלום");
});
