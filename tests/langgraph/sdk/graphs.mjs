// The graphs that the captures in tests/recordings/captures were made with: taken over from there
// as they were, but for these lines and the graphs from `talks` on.
// Tiny graph used to capture the wire format of the LangGraph dev server.
// START -> agent (streams text + a tool call) -> tools (custom events)
//       -> researcher (compiled subgraph that also calls a model)
//       -> review (interrupt) -> final (FakeListChatModel, char by char) -> END
import fs from "node:fs";
import {
  StateGraph, MessagesAnnotation, Annotation, StreamChannel, interrupt, pushMessage, START, END,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, RemoveMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { tool } from "@langchain/core/tools";
import { z } from "zod";

const sleep = (ms) => new Promise((r) => setTimeout(r, ms));

/** Emits scripted chunks that look like a real provider: stable id, tool_call_chunks, usage. */
class ScriptedChatModel extends BaseChatModel {
  constructor(script, name) { super({}); this.script = script; this.modelName = name; }
  _llmType() { return "scripted"; }
  async *_streamResponseChunks(_messages, _options, runManager) {
    for (const part of this.script) {
      await sleep(5);
      const message = new AIMessageChunk({ ...part });
      const chunk = new ChatGenerationChunk({ message, text: typeof part.content === "string" ? part.content : "" });
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
  async _generate(messages, options, runManager) {
    let acc;
    for await (const c of this._streamResponseChunks(messages, options, runManager)) {
      acc = acc ? acc.concat(c) : c;
    }
    const m = acc.message;
    return { generations: [{ text: acc.text, message: new AIMessage({
      id: m.id, content: m.content, tool_calls: m.tool_calls,
      usage_metadata: m.usage_metadata, response_metadata: m.response_metadata,
    }) }] };
  }
}

const agentModel = () => new ScriptedChatModel([
  { id: "msg-agent-1", content: "Let me " },
  { id: "msg-agent-1", content: "check." },
  { id: "msg-agent-1", content: "", tool_call_chunks: [{ index: 1, id: "call_1", name: "get_weather", args: "" }] },
  { id: "msg-agent-1", content: "", tool_call_chunks: [{ index: 1, args: '{"city":' }] },
  { id: "msg-agent-1", content: "", tool_call_chunks: [{ index: 1, args: '"Paris"}' }] },
  { id: "msg-agent-1", content: "", usage_metadata: { input_tokens: 11, output_tokens: 7, total_tokens: 18 },
    response_metadata: { finish_reason: "tool_calls" } },
], "scripted-agent");

const researchModel = () => new ScriptedChatModel([
  { id: "msg-sub-1", content: "Sub" },
  { id: "msg-sub-1", content: "graph note" },
], "scripted-sub");

const getWeather = tool(async ({ city }, config) => {
  config.writer?.({ kind: "progress", step: "lookup", city });
  await sleep(5);
  config.writer?.({ kind: "progress", step: "done", city });
  return `Sunny in ${city}`;
}, { name: "get_weather", description: "Weather by city", schema: z.object({ city: z.string() }) });

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  approved: Annotation(),
});

const sub = new StateGraph(MessagesAnnotation)
  .addNode("think", async (state, config) => {
    config.writer?.({ kind: "sub-custom", hello: "from subgraph" });
    return { messages: [await researchModel().invoke(state.messages, config)] };
  })
  .addEdge(START, "think").addEdge("think", END)
  .compile();

const finalModel = new FakeListChatModel({ responses: ["Ok!"], sleep: 2 });

export const graph = new StateGraph(State)
  .addNode("agent", async (state, config) => ({ messages: [await agentModel().invoke(state.messages, config)] }))
  .addNode("tools", new ToolNode([getWeather]))
  .addNode("researcher", sub)
  .addNode("review", async () => {
    const answer = interrupt({ question: "Send the answer?", options: ["yes", "no"] });
    return { approved: answer };
  })
  .addNode("final", async (state, config) => ({ messages: [await finalModel.invoke(state.messages, config)] }))
  .addEdge(START, "agent").addEdge("agent", "tools").addEdge("tools", "researcher")
  .addEdge("researcher", "review").addEdge("review", "final").addEdge("final", END)
  .compile();

// A graph that fails, for the `error` event.
export const failing = new StateGraph(MessagesAnnotation)
  .addNode("boom", async () => { throw new RangeError("boom: deliberate failure"); })
  .addEdge(START, "boom").addEdge("boom", END)
  .compile();

// A slow graph, for cancel / join / Last-Event-ID tests.
export const slow = new StateGraph(MessagesAnnotation)
  .addNode("tick", async (_s, config) => {
    for (let i = 0; i < 20; i += 1) { config.writer?.({ tick: i }); await sleep(150); }
    return { messages: [{ role: "assistant", content: "done", id: "msg-slow" }] };
  })
  .addEdge(START, "tick").addEdge("tick", END)
  .compile();

// Tokens at a pace that a reader, a cancel or a restart falls into.
export const talks = new StateGraph(MessagesAnnotation)
  .addNode("talk", async (state, config) => {
    const words = Array.from({ length: 60 }, (_, i) => ({ id: "msg-talk", content: `word${i} ` }));
    const model = new ScriptedChatModel(words, "scripted-talk");
    return { messages: [await model.invoke(state.messages, config)] };
  })
  .addEdge(START, "talk").addEdge("talk", END)
  .compile();

// Each word only when its reader has asked for it, with a file.
class AskedChatModel extends ScriptedChatModel {
  async *_streamResponseChunks(messages, options, runManager) {
    for (const [i, part] of this.script.entries()) {
      while (!fs.existsSync(`${this.modelName}-${i}`)) await sleep(5);
      yield* new ScriptedChatModel([part], this.modelName)._streamResponseChunks(messages, options, runManager);
    }
  }
}

export const paced = new StateGraph(MessagesAnnotation)
  .addNode("talk", async (state, config) => {
    const words = Array.from({ length: 10 }, (_, i) => ({ id: "msg-paced", content: `word${i} ` }));
    const model = new AskedChatModel(words, config.configurable.thread_id);
    return { messages: [await model.invoke(state.messages, config)] };
  })
  .addEdge(START, "talk").addEdge("talk", END)
  .compile();

// Ends when it is stopped.
export const endless = new StateGraph(MessagesAnnotation)
  .addNode("tick", async (_s, config) => {
    for (let i = 0; ; i += 1) { config.signal?.throwIfAborted(); config.writer?.({ tick: i }); await sleep(20); }
  })
  .addEdge(START, "tick").addEdge("tick", END)
  .compile();

// Its subgraph asks.
const asking = new StateGraph(MessagesAnnotation)
  .addNode("ask", () => { interrupt("how deep?"); return {}; })
  .addEdge(START, "ask").addEdge("ask", END)
  .compile();
export const below = new StateGraph(MessagesAnnotation)
  .addNode("sub", asking)
  .addEdge(START, "sub").addEdge("sub", END)
  .compile();

// Says how far it is, always in the same message, and takes that back.
export const pushes = new StateGraph(MessagesAnnotation)
  .addNode("work", async () => {
    for (const content of ["10 %", "50 %", "50 %", "100 %"]) pushMessage(new AIMessage({ id: "msg-progress", content }));
    return {};
  })
  .addNode("clean", async () => {
    const messages = [new RemoveMessage({ id: "msg-progress" }), new AIMessage({ id: "msg-kept", content: "Done." })];
    for (const message of messages) pushMessage(message, { stateKey: null });
    return { messages };
  })
  .addEdge(START, "work").addEdge("work", "clean").addEdge("clean", END)
  .compile();

// Its transformers count what they see: on a channel while it runs, and as a promise at its end.
const counting = () => {
  const seen = StreamChannel.remote("seen"), quiet = StreamChannel.local();
  let deltas = 0, tokens = 0, told;
  const totals = new Promise((resolve) => { told = resolve; });
  return {
    init: () => ({ seen, quiet, totals }),
    process({ method, params: { data } }) {
      if (method === "messages" && data.event === "content-block-delta") deltas += 1;
      if (method === "messages" && data.event === "message-finish") {
        tokens += data.usage?.total_tokens ?? 0;
        seen.push({ deltas });
        quiet.push(deltas);
      }
      return true;
    },
    finalize: () => told({ deltas, tokens }),
  };
};
export const counted = new StateGraph(State)
  .addNode("agent", async (state, config) => ({ messages: [await agentModel().invoke(state.messages, config)] }))
  .addNode("researcher", sub)
  .addEdge(START, "agent").addEdge("agent", "researcher").addEdge("researcher", END)
  .compile({ transformers: [counting] });
