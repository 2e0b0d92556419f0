// Every kind of export that LangChain's documentation shows: runs, drawings and schemas.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { submit, subscribe } from '../../../clients/typescript/src/index.js';
import { kill, project, Server, start } from '../../lib/server.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const RUN = path.join(HERE, '../../../clients/typescript/bin/spoolwire-run.js');
const GRAPHS = ['compiled', 'configured', 'builder', 'promised', 'default', 'makes', 'makesLater', 'makesFor'];
const AGENTS = ['agent', 'agentWith', 'deep', 'makesAgent'];
const OTHERS = ['makesWith', 'makesNode', 'contexts', 'pushes', 'functional', 'lambda', 'chain', 'makesLambda'];
const ALL = [...GRAPHS, ...AGENTS, ...OTHERS];

let folder;
let server;
let worker;

before(async () => {
    folder = project({ 'exports.mjs': path.join(HERE, 'exports.mjs') }, process.env.AGENT_PACKAGES);
    const agents = ALL.map((a) => `  ${a}: {pull: true}\n`);
    fs.writeFileSync(path.join(folder, 'x.yaml'), `demo: false\nagents:\n${agents.join('')}`);
    server = await new Server(['serve', '--config', 'x.yaml', '--data', 'x.db'], { cwd: folder }).start();
    worker = start(process.execPath, [RUN, '--pull', ...ALL.map((a) => `${a}=./exports.mjs:${a}`)], {
        cwd: folder,
        env: { SPOOLWIRE_URL: server.url, LANGGRAPH_CONFIG: '{"contexts":{"context":{"size":1}}}' },
    });
});
after(async () => {
    await kill(worker);
    await server?.stop();
    fs.rmSync(folder ?? '', { recursive: true, force: true });
});

async function post(where, body) {
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(server.url + where, { method: 'POST', headers, body: JSON.stringify(body) });
    return response.json();
}

const wait = (assistant_id, input, more = {}) => post('/runs/wait', { assistant_id, input, ...more });
const SAYS = { messages: [{ role: 'user', content: 'hello' }] };

for (const name of GRAPHS)
    test(`${name} runs, is drawn and has a schema`, async () => {
        const more = name === 'makesFor' ? { config: { configurable: { colour: 'red' } } } : {};
        const word = name === 'makesFor' ? 'for red makesFor' : name;

        assert.deepEqual(await wait(name, {}, more), { said: [word] });
        const { nodes } = await server.get(`/assistants/${name}/graph`);
        assert.deepEqual(nodes.map((n) => n.id), ['__start__', 'say', '__end__']);
        const { graph_id, state_schema } = await server.get(`/assistants/${name}/schemas`);
        assert.deepEqual([graph_id, Object.keys(state_schema.properties)], [name, ['said']]);
    });

test('a function is told what its graph is for', async () => {
    const given = { context: { size: 3 } };
    assert.deepEqual(await wait('makesWith', {}, given), { said: ['makesWith threads.create_run 3 function'] });
    assert.equal((await server.get('/assistants/makesWith/graph')).nodes[1].id, 'say');
});

test('a graph is drawn as its assistant has it', async () => {
    const config = { configurable: { node: 'other' } };
    const { assistant_id } = await post('/assistants', { graph_id: 'makesNode', config });

    for (const [assistant, node] of [['makesNode', 'none'], [assistant_id, 'other']]) {
        const { nodes } = await server.get(`/assistants/${assistant}/graph`);
        assert.deepEqual(nodes.map((n) => n.id), ['__start__', node, '__end__']);
    }
});

for (const name of AGENTS)
    test(`${name} runs, is drawn and has a schema`, async () => {
        const { messages } = await wait(name, SAYS);
        assert.deepEqual(messages.map((m) => m.type), ['human', 'ai']);
        const { nodes } = await server.get(`/assistants/${name}/graph`);
        assert.ok(nodes.some((n) => n.id === 'model_request'), JSON.stringify(nodes));
        const { state_schema } = await server.get(`/assistants/${name}/schemas`);
        assert.ok('messages' in state_schema.properties);
    });

test('a function of the functional API runs, remembers and asks', async () => {
    const { thread_id } = await post('/threads', {});
    const run = (more) => post(`/threads/${thread_id}/runs/wait`, { assistant_id: 'functional', ...more });

    assert.deepEqual(await run({ input: { n: 2 } }), { now: 4, sure: 'yes' });
    assert.deepEqual(await run({ input: { n: 3 } }), { now: 10, sure: 'yes' });
    const asked = await run({ input: { n: 200 } });
    assert.equal(asked.__interrupt__[0].value.question, 'That much?', JSON.stringify(asked));
    assert.deepEqual(await run({ command: { resume: 'sure' } }), { now: 410, sure: 'sure' });
    const { nodes } = await server.get('/assistants/functional/graph');
    assert.ok(nodes.length > 0);
    assert.equal((await server.get('/assistants/functional/schemas')).graph_id, 'functional');
});

for (const name of ['lambda', 'makesLambda'])
    test(`${name}, which is no graph, runs`, async () => {
        assert.deepEqual(await wait(name, { n: 4 }), { tripled: 12 });
        const { job_id } = await submit(name, { n: 5 }, server);
        await Array.fromAsync(subscribe(job_id, server));
        const { state, output, error } = await server.get(`/v1/jobs/${job_id}`);
        assert.deepEqual([state, output], ['succeeded', { tripled: 15 }], error);
        assert.ok((await server.get(`/assistants/${name}/graph`)).nodes.length > 0);
        assert.deepEqual(await server.get(`/assistants/${name}/subgraphs`), {});
        assert.equal((await server.get(`/assistants/${name}/schemas`)).graph_id, name);
    });

test('tokens of a chain come one by one', async () => {
    const { job_id } = await submit('chain', { text: 'hello' }, server);
    const frames = await Array.fromAsync(subscribe(job_id, { ...server, dialect: 'messages', modes: ['messages'] }));
    const said = frames.filter((f) => f.event === 'messages').map((f) => f.data[0].content);

    assert.equal(said.join(''), 'one two');
    assert.ok(said.length > 1, JSON.stringify(frames));
});

test('a context is the run’s, the assistant’s or that of the environment', async () => {
    const { assistant_id } = await post('/assistants', { graph_id: 'contexts', context: { size: 2 } });
    const { assistant_id: bare } = await post('/assistants', { graph_id: 'contexts' });

    assert.deepEqual(await wait('contexts', {}), { given: [1, 1] });
    assert.deepEqual(await wait('contexts', {}, { context: { size: 3 } }), { given: [3, 3] });
    assert.deepEqual(await wait(assistant_id, {}), { given: [2, 2] });
    assert.deepEqual(await wait(assistant_id, {}, { config: { configurable: { size: 4 } } }), { given: [4, 4] });
    assert.deepEqual(await wait(bare, {}), { given: [null, null] });
});

test('a message that is pushed again is streamed again, and one that is removed', async () => {
    const body = JSON.stringify({ assistant_id: 'pushes', input: {}, stream_mode: ['messages-tuple'] });
    const headers = { 'Content-Type': 'application/json' };
    const text = await (await fetch(`${server.url}/runs/stream`, { method: 'POST', headers, body })).text();
    const said = [...text.matchAll(/^event: messages\r?\ndata: (.*)$/gm)].map(([, data]) => JSON.parse(data)[0]);

    assert.deepEqual(
        said.map((m) => [m.type, m.id, m.content]),
        [...['10 %', '50 %', '100 %'].map((content) => ['ai', 'p', content]), ['remove', 'p', []]],
        text,
    );
});
