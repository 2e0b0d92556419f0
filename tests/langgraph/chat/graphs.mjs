// A chat that does what it is told: "talk 60 50" is sixty words, one every fifty milliseconds, but
// no more than the file `allowed` has a number of, where there is one; "ask" is a question, and
// whatever is said to it is repeated.
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { END, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import fs from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const ALLOWED = new URL('./allowed', import.meta.url);
const allowed = () => (fs.existsSync(ALLOWED) ? Number(fs.readFileSync(ALLOWED, 'utf8')) : Infinity);

class Talker extends BaseChatModel {
    constructor(words, ms) {
        super({});
        Object.assign(this, { words, ms });
    }

    _llmType() {
        return 'talker';
    }

    async *_streamResponseChunks(_messages, options, manager) {
        for (let i = 0; i < this.words; i += 1) {
            do await pause(this.ms, undefined, { signal: options.signal });
            while (i >= allowed());
            const text = `word${i} `;
            const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk({ content: text }) });
            yield chunk;
            await manager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
        }
    }

    async _generate(messages, options, manager) {
        let text = '';
        for await (const chunk of this._streamResponseChunks(messages, options, manager)) text += chunk.text;
        return { generations: [{ text, message: new AIMessage(text) }] };
    }
}

async function talk(state, config) {
    const [, words, ms] = state.messages.at(-1).text.split(' ').map(Number);
    return { messages: [await new Talker(words, ms).invoke(state.messages, config)] };
}

async function ask() {
    return { messages: [new AIMessage(`You said ${interrupt({ question: 'Really?' })}.`)] };
}

export const chat = new StateGraph(MessagesAnnotation)
    .addNode('talk', talk)
    .addNode('ask', ask)
    .addConditionalEdges(START, (s) => s.messages.at(-1).text.split(' ')[0], ['talk', 'ask'])
    .addEdge('talk', END)
    .addEdge('ask', END)
    .compile();
