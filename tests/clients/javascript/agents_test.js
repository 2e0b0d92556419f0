// Agents of LangChain (createAgent, createDeepAgent) through `spoolwire dev`, and graphs that cannot be loaded.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { answer, submit, subscribe } from '../../../clients/typescript/src/index.js';
import { project, Server, until } from '../../lib/server.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const SAYS = { messages: [{ role: 'user', content: 'hello' }] };
const GRAPHS = {
    ...Object.fromEntries(['agent', 'deep', 'outer', 'made', 'located', 'leads'].map((name) => [name, `./agents.mjs:${name}`])),
    broken: './broken.mjs:graph',
    exits: './exits.mjs:graph',
    snake: './broken.py:graph',
};
let folder;
let server;

before(async () => {
    folder = project({ 'agents.mjs': path.join(HERE, 'agents.mjs') }, process.env.AGENT_PACKAGES);
    fs.writeFileSync(path.join(folder, 'broken.mjs'), 'throw new RangeError("no key");\nexport const graph = 1;');
    fs.writeFileSync(path.join(folder, 'exits.mjs'), 'process.exit(7);\nexport const graph = 1;');
    fs.writeFileSync(path.join(folder, 'broken.py'), 'raise ValueError("no key")\n');
    fs.writeFileSync(path.join(folder, 'langgraph.json'), JSON.stringify({ graphs: GRAPHS }));
    server = await new Server(['dev'], { cwd: folder }).start();
});
after(async () => {
    await server?.stop();
    fs.rmSync(folder ?? '', { recursive: true, force: true });
});

async function post(where, body) {
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(server.url + where, { method: 'POST', headers, body: JSON.stringify(body) });
    return response.json();
}

const wait = (assistant_id, more = {}) => post('/runs/wait', { assistant_id, input: SAYS, ...more });
const types = ({ messages }) => messages.map((m) => m.type);

test('an agent asks, is answered, and its state is the server’s', async () => {
    const { thread_id } = await post('/threads', {});
    const run = (more) => post(`/threads/${thread_id}/runs/wait`, { assistant_id: 'agent', ...more });

    const asked = await run({ input: SAYS });
    assert.equal(asked.__interrupt__[0].value.actionRequests[0].name, 'send', JSON.stringify(asked));
    const before = await server.get(`/threads/${thread_id}/state`);
    assert.equal(before.tasks[0].interrupts.length, 1);
    const ended = await run({ command: { resume: { decisions: [{ type: 'approve' }] } } });
    assert.deepEqual(types(ended), ['human', 'ai', 'tool', 'ai']);
    assert.equal(ended.messages[2].content, 'sent to ann');
    assert.equal(ended.turns, 2);
    const { values, next } = await server.get(`/threads/${thread_id}/state`);
    assert.deepEqual([types(values), next], [types(ended), []]);
});

test('the same as a plain job', async () => {
    const { job_id } = await submit('agent', SAYS, server);
    const events = [];

    for await (const { event } of subscribe(job_id, { ...server, dialect: 'agent' })) {
        events.push(event);
        if (event === 'graph.interrupt') await answer(job_id, { value: { decisions: [{ type: 'approve' }] } }, server);
    }
    const { state, error } = await server.get(`/v1/jobs/${job_id}`);
    assert.equal(state, 'succeeded', error);
    assert.ok(events.includes('graph.resumed'));
});

test('a deep agent runs, and its subagent is a graph below it', async () => {
    const { job_id } = await submit('deep', SAYS, server);
    const modes = { ...server, dialect: 'messages', modes: ['values', 'updates'], subgraphs: true };
    const frames = await Array.fromAsync(subscribe(job_id, modes));
    const { state, error } = await server.get(`/v1/jobs/${job_id}`);
    const last = frames.filter((f) => f.event === 'values').at(-1).data;

    assert.equal(state, 'succeeded', error);
    assert.deepEqual(types(last), ['human', 'ai', 'tool', 'ai']);
    assert.ok(frames.some((f) => f.event.startsWith('updates|')), frames.map((f) => f.event).join());
});

// What the events of a thread say until its run has ended.
async function eventsOf(thread, channels, end) {
    const response = await fetch(`${server.url}/threads/${thread}/stream/events`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ channels: [...channels, 'lifecycle'] }),
    });
    const events = [];
    let text = '';

    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
        text += piece;
        const frames = text.split('\n\n');
        text = frames.pop();
        for (const frame of frames) events.push(JSON.parse(/^data: (.*)$/m.exec(frame)[1]));
        if (events.some(({ method, params }) => method === 'lifecycle' && params.namespace.length === 0 && params.data.event === end)) break;
    }
    return events;
}

const command = (thread, method, params) => post(`/threads/${thread}/commands`, { id: 1, method, params });

test('the tools of a subagent are told with their arguments and results, inside of it', async () => {
    const thread = crypto.randomUUID();
    await command(thread, 'run.start', { assistant_id: 'leads', input: SAYS });
    const events = await eventsOf(thread, ['tools'], 'completed');
    const tools = events.filter((e) => e.method === 'tools').map(({ params }) => params);
    const of = (call, event) => tools.find(({ data }) => data.tool_call_id === call && data.event === event);
    const argsOf = ({ data: { input } }) => (typeof input === 'string' ? JSON.parse(input) : input);

    assert.deepEqual([of('c4', 'tool-started').data.tool_name, of('c5', 'tool-started').data.tool_name], ['task', 'send']);
    assert.deepEqual(argsOf(of('c4', 'tool-started')), { description: 'tell bob', subagent_type: 'worker' });
    assert.deepEqual(argsOf(of('c5', 'tool-started')), { to: 'bob' });
    assert.match(JSON.stringify(of('c5', 'tool-finished').data.output), /sent to bob/);
    assert.ok(of('c4', 'tool-finished'));
    // What its tools do is inside of the subagent, whose lifecycle is told.
    const [outer] = of('c5', 'tool-started').namespace;
    const told = events.filter(({ method, params }) => method === 'lifecycle' && params.namespace.length === 1 && params.namespace[0] === outer);
    assert.deepEqual(told.map(({ params }) => params.data.event), ['started', 'completed'], JSON.stringify(events.map((e) => e.params)));
});

test('a tool that the page executes asks for its result, and the agent goes on with it', async () => {
    const thread = crypto.randomUUID();
    await command(thread, 'run.start', { assistant_id: 'located', input: SAYS });
    const asked = (await eventsOf(thread, ['input', 'tools'], 'interrupted')).find((e) => e.method === 'input.requested');
    const { interrupt_id, payload } = asked.params.data;

    assert.deepEqual([payload.type, payload.toolCall.name, payload.toolCall.args], ['tool', 'locate', { exact: true }], JSON.stringify(payload));
    const { type } = await command(thread, 'input.respond', { namespace: asked.params.namespace, interrupt_id, response: { lat: 48 } });
    assert.equal(type, 'success');
    const events = await eventsOf(thread, ['tools', 'values'], 'completed');
    const { messages } = events.filter((e) => e.method === 'values' && e.params.namespace.length === 0).at(-1).params.data;
    assert.deepEqual(messages.map((m) => m.type), ['human', 'ai', 'tool', 'ai']);
    assert.match(JSON.stringify(messages[2].content), /48/);
});

test('an agent inside of a graph, and one that a function makes', async () => {
    assert.deepEqual(types(await wait('outer')), ['human', 'ai']);
    const made = await wait('made', { config: { configurable: { colour: 'red' } } });
    assert.match(made.messages.at(-1).content, /^For made red/);
});

test('what it looks like and what it takes can be asked', async () => {
    const { nodes } = await server.get('/assistants/agent/graph');
    const { state_schema } = await server.get('/assistants/deep/schemas');

    assert.ok(nodes.some((n) => n.id === 'tools'), JSON.stringify(nodes));
    assert.ok('messages' in state_schema.properties);
    assert.ok('inner' in (await server.get('/assistants/outer/subgraphs')));
});

test('what a graph logs is in the log, with the node that is at work', async () => {
    await until('it is there', () => /info: the module is loaded \{\\"agents\\":3\}/.test(server.child.text));
    await until('and its node', () => /warn: \[tools\] sending/.test(server.child.text));
});

test('a graph that cannot be loaded fails its runs and calls with the reason', async () => {
    for (const [name, reason] of [
        ['broken', './broken.mjs:graph could not be loaded: RangeError: no key'],
        ['exits', './exits.mjs:graph could not be loaded: it ended the process with the status 7'],
        ['snake', './broken.py:graph could not be loaded: ValueError: no key'],
    ]) {
        const { job_id } = await submit(name, SAYS, server);
        const events = await Array.fromAsync(subscribe(job_id, server));
        const { state, error, error_type } = await server.get(`/v1/jobs/${job_id}`);

        assert.equal(events.at(-1).data.type, 'job.failed');
        assert.deepEqual([state, error, error_type], ['failed', reason, 'GraphLoadError']);
        await assert.rejects(server.get(`/assistants/${name}/graph`), /could not be loaded/);
        assert.ok((await wait(name)).__error__, 'a client of LangGraph’s is told');
    }
});
