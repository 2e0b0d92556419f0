// RemoteGraph of LangGraph for JavaScript and Python: alone, and as a node of a graph of another process.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { until } from '../../lib/server.js';
import { clientOf, end, INPUT, QUESTION, serve } from './suite.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const SEND = { question: 'Shall I send it?', schema: { enum: ['yes', 'no'] } };
const SAID = ['hello', 'You said: hello. What else?'];

let server;
before(async () => {
    server = await serve();
});
after(() => end(server));

const langgraph = (file) =>
    import(pathToFileURL(path.join(process.env.PACKAGES, 'node_modules/@langchain/langgraph/dist', file)).href);

async function remoteOf(graphId) {
    const { RemoteGraph } = await langgraph('pregel/remote.js');
    return new RemoteGraph({ graphId, url: server.url });
}

async function thread() {
    const client = await clientOf('1.12.0', server);
    return { configurable: { thread_id: (await client.threads.create()).thread_id } };
}

const said = (state) => state.messages.map((m) => m.content);

test('RemoteGraph in Python', async () => {
    const run = await promisify(execFile)(process.env.PYTHON, [path.join(HERE, 'remote_graph.py'), server.url]);
    const { alone, node } = JSON.parse(run.stdout);

    assert.deepEqual(alone, {
        said: SAID,
        asked: SEND,
        next: ['approve'],
        questions: [SEND],
        answered: ['send it', 'It is sent.'],
        stopped: [['messages'], ['hello']],
        steps: [2, 1, 0, -1],
        changed: ['checkpoint_id', 'checkpoint_map', 'checkpoint_ns', 'thread_id'],
        nodes: ['__end__', '__start__', 'approve', 'chat'],
    });
    assert.equal(node.tokens.join(''), SAID[1]);
    assert.ok(node.tokens.length > 1, 'tokens come through');
    assert.deepEqual(node, {
        said: [...SAID, `near: ${SAID[1]}`],
        tokens: node.tokens,
        updates: [[true, ['chat']], [false, ['far']], [false, ['near']]],
        asked: SEND,
        next: ['far'],
    });
});

test('RemoteGraph in JavaScript', async () => {
    const { Command } = await langgraph('constants.js');
    const remote = await remoteOf('agent');
    const at = await thread();
    // As everywhere, RemoteGraph throws what the graph asks: a graph around it takes it as its own question.
    const asked = await remote.invoke(INPUT, at).catch((e) => e);
    const modes = new Set();

    assert.deepEqual(asked.interrupts?.map((i) => i.value), [QUESTION], asked);
    // It left as soon as it saw the question; the run saves its state when it ends.
    const state = await until('the question', async () => {
        const now = await remote.getState(at);
        return now.next[0] === 'review' && now.tasks[0].interrupts.length > 0 && now;
    });
    assert.deepEqual(state.tasks[0].interrupts.map((i) => i.value), [QUESTION]);
    for await (const [mode] of await remote.stream(new Command({ resume: 'yes' }), { ...at, streamMode: ['values', 'messages'] }))
        modes.add(mode);
    assert.deepEqual([...modes].sort(), ['messages', 'values']);
    assert.deepEqual((await remote.getState(at)).next, []);
    assert.equal((await Array.fromAsync(remote.getStateHistory(at))).at(0).config.configurable.thread_id, at.configurable.thread_id);
    assert.ok((await remote.getGraphAsync()).nodes.review);
});

test('RemoteGraph as a node of a graph in JavaScript', async () => {
    const { StateGraph, MessagesAnnotation, MemorySaver, START, END } = await langgraph('index.js');
    const remote = await remoteOf('python');
    const graph = new StateGraph(MessagesAnnotation)
        .addNode('far', remote)
        .addNode('near', (state) => ({ messages: [{ role: 'ai', content: `near: ${state.messages.at(-1).content}` }] }))
        .addEdge(START, 'far')
        .addEdge('far', 'near')
        .addEdge('near', END)
        .compile({ checkpointer: new MemorySaver() });
    // The thread's id is that of the remote thread, too.
    const ids = { a: crypto.randomUUID(), b: crypto.randomUUID() };
    const at = (name) => ({ configurable: { thread_id: ids[name] } });
    const parts = await Array.fromAsync(
        await graph.stream({ messages: [{ role: 'user', content: 'hello' }] }, { ...at('a'), streamMode: ['messages', 'updates'], subgraphs: true }),
    );
    const tokens = parts.filter(([ns, mode]) => ns.length > 0 && mode === 'messages').map(([, , d]) => d[0]);

    assert.deepEqual(said((await graph.getState(at('a'))).values), [...SAID, `near: ${SAID[1]}`]);
    assert.ok(tokens.length > 1, 'tokens come through');
    const asked = await graph.invoke({ messages: [{ role: 'user', content: 'send it' }] }, at('b'));
    assert.deepEqual(asked.__interrupt__.map((i) => i.value), [SEND]);
    assert.deepEqual((await graph.getState(at('b'))).next, ['far']);
});
