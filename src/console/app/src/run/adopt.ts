// The same run elsewhere: lines to paste.

import { jobPath } from "../api";
import { h, type VNode } from "../dom";
import { copyButton } from "../page";

function snippets(job: string, agent: string, isLocked: boolean): [string, string, string][] {
  const origin = location.origin;
  const path = jobPath(job, "/events");
  const auth = isLocked ? ` -H "Authorization: Bearer $SPOOLWIRE_TOKEN"` : "";
  return [
    ["curl", "From the beginning, then live; add Last-Event-ID to go on.", `curl -N${auth} '${origin}${path}?dialect=agent'`],
    ["Command line", "The run as it goes on, in a terminal.", `SPOOLWIRE_URL=${origin} spoolwire tail ${job}`],
    ["EventSource", "In a page; the browser resumes by itself.",
      `const source = new EventSource("${origin}${path}?dialect=agent");\n` +
      `source.addEventListener("agent.token", (e) => console.log(JSON.parse(e.data).token));\n` +
      `for (const end of ["job.done", "job.failed"]) source.addEventListener(end, () => source.close());`],
    ["LangGraph SDK", "A new run of the same agent, with the stock client.",
      `import { Client } from "@langchain/langgraph-sdk";\n\n` +
      `const client = new Client({ apiUrl: "${origin}" });\n` +
      `for await (const part of client.runs.stream(null, "${agent}", { input: {}, streamMode: "messages-tuple" }))\n` +
      `  console.log(part.event, part.data);`],
    ["Python", "Long poll with nothing but the standard library.",
      `import json, urllib.request\n\n` +
      `after, ended = "0", False\n` +
      `while not ended:\n` +
      `    with urllib.request.urlopen(f"${origin}${path}?wait=20&after={after}") as answer:\n` +
      `        page = json.load(answer)\n` +
      `    for event in page["events"]:\n` +
      `        print(event["event"], event["data"])\n` +
      `    after, ended = page["next"], page["ended"]`],
    ["New run", "The same agent again.", `curl${auth} ${origin}/v1/jobs -d '{"agent":"${agent}","input":{}}'`],
  ];
}

export function adopt(job: string, agent: string, isLocked: boolean): VNode {
  return h("div", { class: "panels" }, snippets(job, agent, isLocked).map(([name, about, text]) =>
    h("section", { key: name, class: "panel", "aria-label": name },
      h("header", { class: "panel-head" }, h("h3", null, name), h("span", { class: "muted" }, about), copyButton(() => text)),
      h("pre", { tabindex: "0" }, text))));
}
