// graph.py in JavaScript.
import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { z } from "zod";

const call = (id, name, args, index) => ({ id, name, args, index, type: "tool_call_chunk" });
const SCRIPTS = {
    first: [
        { content: "Let me " }, { content: "look. " },
        { content: "", tool_call_chunks: [call("call_1", "weather", '{"city":"Oslo"}', 0)] },
        { content: "", tool_call_chunks: [call("call_2", "broken", '{"city":"Rome"}', 1)] },
    ],
    last: [{ content: "It " }, { content: "is " }, { content: "sunny." }],
    inner: [{ content: "", tool_call_chunks: [call("call_3", "weather", '{"city":"Bern"}', 0)] }],
};

class Scripted extends BaseChatModel {
    constructor(which) {
        super({});
        this.which = which;
    }

    _llmType() {
        return "scripted";
    }

    async *_streamResponseChunks(_messages, _options, runManager) {
        for (const part of SCRIPTS[this.which]) {
            const message = new AIMessageChunk({ id: `ai-${this.which}`, ...part });
            const chunk = new ChatGenerationChunk({ message, text: part.content });
            yield chunk;
            await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
        }
    }

    async _generate(messages, options, runManager) {
        let whole;
        for await (const chunk of this._streamResponseChunks(messages, options, runManager))
            whole = whole ? whole.concat(chunk) : chunk;
        const { id, content, tool_calls } = whole.message;
        return { generations: [{ text: whole.text, message: new AIMessage({ id, content, tool_calls }) }] };
    }
}

const schema = z.object({ city: z.string() });
const weather = tool(async ({ city }) => `Sunny in ${city}`, { name: "weather", description: "The weather of a city.", schema });
const broken = tool(
    async ({ city }) => {
        throw new Error(`no weather in ${city}`);
    },
    { name: "broken", description: "Fails.", schema },
);

const asks = (which) => async (state, config) => ({ messages: [await new Scripted(which).invoke(state.messages, config)] });
const agent = (state, config) => asks(state.messages.some((m) => m.getType() === "tool") ? "last" : "first")(state, config);
const nextNode = (state) => (state.messages.at(-1).tool_calls?.length ? "tools" : "inner");

const tools = new ToolNode([weather, broken]);
const inner = new StateGraph(MessagesAnnotation)
    .addNode("model", asks("inner")).addNode("look", tools)
    .addEdge(START, "model").addEdge("model", "look").compile();

export const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", agent).addNode("tools", tools).addNode("inner", inner)
    .addEdge(START, "agent").addConditionalEdges("agent", nextNode, ["tools", "inner"])
    .addEdge("tools", "agent").addEdge("inner", END).compile();
