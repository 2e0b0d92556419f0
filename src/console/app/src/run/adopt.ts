// Code to copy that reads the same run elsewhere.

import { jobPath } from "../api";
import { h, type VNode } from "../dom";
import { copyButton } from "../page";

const HEADER = ' -H "Authorization: Bearer $SPOOLWIRE_TOKEN"';

export function curl(path: string, isLocked: boolean): string {
  return `curl -N${isLocked ? HEADER : ""} '${location.origin}${path}'`;
}

// @isLocked: a token is needed, and taken from the environment.
function snippets(job: string, agent: string, isLocked: boolean): [string, string, string][] {
  const { origin } = location;
  const path = jobPath(job, "/events");
  return [
    ["curl", "From the beginning, then live.", curl(`${path}?dialect=agent`, isLocked)],
    ["Command line", "The run as it goes on, in a terminal.", `SPOOLWIRE_URL=${origin} spoolwire tail ${job}`],
    ["EventSource", isLocked ? "In a page of this server, signed in." : "In a page; the browser resumes by itself.",
      `const source = new EventSource("${origin}${path}?dialect=agent");\n` +
      `source.addEventListener("agent.token", (e) => console.log(JSON.parse(e.data).token));\n` +
      `for (const end of ["job.done", "job.failed"]) source.addEventListener(end, () => source.close());`],
    ["LangGraph SDK", "With the stock client; -1 is the beginning.",
      `import { Client } from "@langchain/langgraph-sdk";\n\n` +
      `const client = new Client({ apiUrl: "${origin}"${isLocked ? ", apiKey: process.env.SPOOLWIRE_TOKEN" : ""} });\n` +
      `const options = { lastEventId: "-1", streamMode: ["messages-tuple"] };\n` +
      `for await (const part of client.runs.joinStream(null, "${job}", options)) console.log(part.event, part.data);`],
    ["Python", "Long poll with nothing but the standard library.",
      `import json, ${isLocked ? "os, " : ""}urllib.request\n\n` +
      `headers = {${isLocked ? '"Authorization": "Bearer " + os.environ["SPOOLWIRE_TOKEN"]' : ""}}\n` +
      `after, ended = "0", False\n` +
      `while not ended:\n` +
      `    request = urllib.request.Request(f"${origin}${path}?wait=20&after={after}", headers=headers)\n` +
      `    with urllib.request.urlopen(request) as answer:\n` +
      `        page = json.load(answer)\n` +
      `    for event in page["events"]:\n` +
      `        print(event["event"], event["data"])\n` +
      `    after, ended = page["next"], page["ended"]`],
    ["New run", "The same agent again.", `curl${isLocked ? HEADER : ""} ${origin}/v1/jobs -d '{"agent":"${agent}","input":{}}'`],
  ];
}

export function adopt(job: string, agent: string, isLocked: boolean): VNode {
  return h("div", { class: "panels" }, snippets(job, agent, isLocked).map(([name, about, text]) =>
    h("section", { key: name, class: "panel", "aria-label": name },
      h("header", { class: "panel-head" }, h("h3", null, name), h("span", { class: "muted" }, about), copyButton(() => text)),
      h("pre", { tabindex: "0" }, text))));
}
