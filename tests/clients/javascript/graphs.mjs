// Small graphs for the tests of the kit, controlled by files in their folder.
import { once } from 'node:events';
import fs from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

import { FakeListChatModel } from '@langchain/core/utils/testing';
import { Annotation, END, entrypoint, interrupt, MessagesAnnotation, Send, START, StateGraph, task } from '@langchain/langgraph';

const note = (config, text) => fs.appendFileSync('notes', `${config.configurable.thread_id} ${text}\n`);


async function chat(state, config) {
    const model = new FakeListChatModel({ responses: ['one two three'], sleep: 1 });

    return { messages: [await model.invoke(state.messages, config)] };
}

async function ask() {
    return { messages: [{ role: 'assistant', content: `You said ${interrupt({ question: 'Well?' })}` }] };
}

export const chats = new StateGraph(MessagesAnnotation)
    .addNode('chat', chat)
    .addNode('ask', ask)
    .addConditionalEdges(START, (s) => (s.messages.at(-1).text === 'ask' ? 'ask' : 'chat'), ['chat', 'ask'])
    .addEdge('chat', END)
    .addEdge('ask', END)
    .compile();

export const fails = new StateGraph(MessagesAnnotation)
    .addNode('boom', () => {
        throw new RangeError('deliberate');
    })
    .addEdge(START, 'boom')
    .compile();

// Three steps, with a gate in the second: a worker that is lost there has done the first.
const Steps = Annotation.Root({ done: Annotation({ reducer: (a, b) => [...a, ...b], default: () => [] }) });

export const steps = new StateGraph(Steps)
    .addNode('first', (_state, config) => {
        note(config, 'first');
        return { done: ['first'] };
    })
    .addNode('second', async (_state, config) => {
        note(config, 'second');
        for (let i = 0; !fs.existsSync('go'); i += 1) {
            config.signal?.throwIfAborted();
            config.writer({ tick: i });
            await pause(20);
        }
        return { done: ['second'] };
    })
    .addEdge(START, 'first')
    .addEdge('first', 'second')
    .addNode('third', (_state, config) => {
        note(config, 'third');
        return { done: ['third'] };
    })
    .addEdge('second', 'third')
    .addEdge('third', END)
    .compile();

// Says nothing for an hour.  One looks at its signal, and notes that it was aborted; the other does not.
const silence = (wait) =>
    new StateGraph(Steps)
        .addNode('wait', async (_state, config) => {
            note(config, 'second');
            await wait(config);
            return { done: ['waited'] };
        })
        .addEdge(START, 'wait')
        .compile();

export const deaf = silence(() => pause(3_600_000, undefined, { ref: false }));
export const silent = silence(async (config) => {
    await once(config.signal, 'abort');
    note(config, 'aborted');
    config.signal.throwIfAborted();
});

export const pair = new StateGraph(Steps)
    .addNode('first', () => ({ done: ['first'] }))
    .addNode('second', () => ({ done: ['second'] }))
    .addEdge(START, 'first')
    .addEdge('first', 'second')
    .compile();

// A node of each kind: called, sent, beside another, with a subgraph that asks, without a result.
const asksBelow = new StateGraph(Steps)
    .addNode('inner', () => ({ done: ['inner'] }))
    .addNode('ask', () => ({ done: [interrupt('Well?')] }))
    .addEdge(START, 'inner')
    .addEdge('inner', 'ask')
    .compile();

export const branches = new StateGraph(Steps)
    .addNode('first', () => ({ done: ['first'] }))
    .addNode('sent', () => ({ done: ['sent'] }))
    .addNode('sub', asksBelow)
    .addNode('beside', () => ({ done: ['beside'] }))
    .addNode('nothing', () => ({}))
    .addEdge(START, 'first')
    .addConditionalEdges('first', () => [new Send('sent', {}), new Send('sent', {})], ['sent'])
    .addEdge('sent', 'sub')
    .addEdge('sent', 'beside')
    .addEdge('sub', 'nothing')
    .compile();

const addOne = task('addOne', async (n) => n + 1);
export const functional = entrypoint('functional', async (n) => addOne(n));

// Many small events, at a pace that a pause of the server falls into.
export const counts = new StateGraph(Steps)
    .addNode('count', async (_state, config) => {
        for (let i = 0; i < 300; i += 1) {
            config.writer({ count: i });
            await pause(5);
        }
        return { done: ['count'] };
    })
    .addEdge(START, 'count')
    .compile();

// Goes on saying numbers until it is told to end; how far it is, is in a file.
export const goesOn = new StateGraph(Steps)
    .addNode('count', async (_state, config) => {
        let n = 0;

        for (; !fs.existsSync('enough'); n += 1) {
            config.writer({ count: n });
            fs.writeFileSync('count.new', String(n));
            fs.renameSync('count.new', 'count'); // whoever reads it finds a number
            await pause(10);
        }
        return { done: [n] };
    })
    .addNode('end', () => ({ done: ['end'] }))
    .addEdge(START, 'count')
    .addEdge('count', 'end')
    .compile();

// What a run finds in the store is what another has left there.
export const remembers = new StateGraph(Steps)
    .addNode('remember', async (_state, config) => {
        const before = await config.store.get(['tests', 'memory'], 'n');
        const n = (before?.value.n ?? 0) + 1;

        await config.store.put(['tests', 'memory'], 'n', { n });
        const found = await config.store.search(['tests']);
        return { done: [n, found.length] };
    })
    .addEdge(START, 'remember')
    .compile();

// A function that makes a graph, not compiled; and what it prints is not a line of ours.
export function makes() {
    console.log('{"ready":"no"}');
    return new StateGraph(Steps).addNode('only', () => ({ done: ['made'] })).addEdge(START, 'only');
}

