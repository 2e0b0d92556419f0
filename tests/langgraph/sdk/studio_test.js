// What LangGraph Studio needs of a server.  Its page is not published, so this is no recording: the requests are those
// whose handlers in langgraph-api 0.16.7 and @langchain/langgraph-api 1.5.1 are there for it (drawings with `xray`,
// subgraphs, schemas, CORS with private networks, the scheme of the header x-auth-scheme), and what its views show.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { end, INPUT, serve } from './suite.js';

const STUDIO = 'https://smith.langchain.com';
const HEADERS = { Origin: STUDIO, 'content-type': 'application/json', 'x-auth-scheme': 'langsmith', 'x-api-key': '' };

let server;
before(async () => {
    server = await serve();
});
after(() => end(server));

const ask = async (method, path, body) => {
    const response = await fetch(server.url + path, { method, headers: HEADERS, body: body && JSON.stringify(body) });
    const text = await response.text();

    assert.equal(response.status, 200, `${method} ${path}: ${response.status} ${text}`);
    assert.ok(['*', STUDIO].includes(response.headers.get('access-control-allow-origin')), path);
    return response.headers.get('content-type').includes('json') ? JSON.parse(text) : text;
};

test("the page's browser is let into a private network", async () => {
    const response = await fetch(`${server.url}/threads/search`, {
        method: 'OPTIONS',
        headers: {
            Origin: STUDIO,
            'Access-Control-Request-Method': 'POST',
            'Access-Control-Request-Headers': 'content-type,x-api-key,x-auth-scheme',
            'Access-Control-Request-Private-Network': 'true',
        },
    });
    assert.ok(response.ok, response.status);
    assert.equal(response.headers.get('access-control-allow-private-network'), 'true');
    const allowed = response.headers.get('access-control-allow-headers').toLowerCase();
    for (const name of ['content-type', 'x-api-key', 'x-auth-scheme']) assert.ok(allowed === '*' || allowed.includes(name), allowed);
});

test('its views find what they show', async () => {
    assert.ok((await ask('GET', '/info')).version);
    assert.equal((await ask('GET', '/ok')).ok, true);
    const [assistant] = await ask('POST', '/assistants/search', { graph_id: 'agent', limit: 100, offset: 0 });
    const at = `/assistants/${assistant.assistant_id}`;
    const drawing = await ask('GET', `${at}/graph?xray=true`);
    assert.ok(drawing.nodes.some((n) => n.id === 'review') && drawing.edges.length > 0);
    assert.ok((await ask('GET', `${at}/graph?xray=1`)).edges.length > 0);
    assert.equal((await ask('GET', `${at}/schemas`)).graph_id, 'agent');
    assert.ok(Object.keys(await ask('GET', '/assistants/below/subgraphs?recurse=true')).length > 0);
    assert.equal((await ask('POST', `${at}/versions`, { limit: 100 })).length, 1);
    assert.deepEqual(await ask('POST', '/store/namespaces', { prefix: [], limit: 100 }), { namespaces: [] });
    assert.deepEqual((await ask('POST', '/store/items/search', { namespace_prefix: [], limit: 10 })).items, []);
});

test('a run is streamed, stops at its question, is forked and changed', async () => {
    const { thread_id: thread } = await ask('POST', '/threads', { metadata: { graph_id: 'agent' } });
    const run = { assistant_id: 'agent', stream_subgraphs: true, multitask_strategy: 'rollback' };
    const modes = ['debug', 'messages', 'values', 'updates', 'custom'];
    const said = await ask('POST', `/threads/${thread}/runs/stream`, { ...run, input: INPUT, stream_mode: modes });
    const names = new Set([...said.matchAll(/^event: (\w+)/gm)].map((m) => m[1]));
    for (const name of ['metadata', 'debug', 'messages', 'values', 'updates']) assert.ok(names.has(name), [...names].join());
    const state = await ask('GET', `/threads/${thread}/state?subgraphs=true`);
    assert.equal(state.tasks[0].interrupts.length, 1);
    const history = await ask('POST', `/threads/${thread}/history`, { limit: 1000 });
    assert.equal(history.length, 5);
    const { checkpoint } = history.find((s) => s.next[0] === 'tools');
    await ask('POST', `/threads/${thread}/runs/stream`, { ...run, input: null, checkpoint, stream_mode: ['values'] });
    await ask('POST', `/threads/${thread}/state`, { values: { approved: 'by hand' }, as_node: 'review', checkpoint });
    const found = await ask('POST', '/threads/search', { metadata: { graph_id: 'agent' }, limit: 100, sort_by: 'updated_at', sort_order: 'desc' });
    assert.equal(found[0].thread_id, thread);
    assert.equal((await ask('GET', `/threads/${thread}/runs?limit=10`)).length, 2);
});
