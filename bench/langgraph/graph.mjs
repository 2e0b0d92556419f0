// A model that says so many tokens, with a pause between them (or none), in a graph of one node.
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { setTimeout as pause } from 'node:timers/promises';

class Talker extends BaseChatModel {
    constructor(tokens, ms) {
        super({});
        Object.assign(this, { tokens, ms });
    }

    _llmType() {
        return 'talker';
    }

    async *_streamResponseChunks(_messages, _options, manager) {
        for (let i = 0; i < this.tokens; i += 1) {
            if (this.ms > 0) await pause(this.ms);
            const chunk = new ChatGenerationChunk({ text: 'token ', message: new AIMessageChunk({ content: 'token ' }) });
            yield chunk;
            await manager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
        }
    }

    async _generate(messages, options, manager) {
        let text = '';
        for await (const chunk of this._streamResponseChunks(messages, options, manager)) text += chunk.text;
        return { generations: [{ text, message: new AIMessage(text) }] };
    }
}

export const graph = new StateGraph(MessagesAnnotation)
    .addNode('talk', async (state, config) => {
        const [tokens, ms] = state.messages.at(-1).text.split(' ').map(Number);
        return { messages: [await new Talker(tokens, ms).invoke(state.messages, config)] };
    })
    .addEdge(START, 'talk')
    .addEdge('talk', END)
    .compile();
