// Assistants as tools of MCP: the official clients for TypeScript and Python, and the messages themselves.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL, fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { clientOf, end, GRAPHS, serve } from './suite.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const TALK = { type: 'string', title: 'Messages', description: 'The user message to send to the agent.' };

let server;
before(async () => {
    server = await serve();
});
after(() => end(server));

const from = (file) =>
    import(pathToFileURL(path.join(process.env.PACKAGES, 'node_modules/@modelcontextprotocol/sdk/dist/esm', file)).href);

async function connected() {
    const { Client } = await from('client/index.js');
    const { StreamableHTTPClientTransport } = await from('client/streamableHttp.js');
    const client = new Client({ name: 'test', version: '1' });

    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
    return client;
}

async function send(message, headers = {}) {
    const response = await fetch(`${server.url}/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
        body: typeof message === 'string' ? message : JSON.stringify(message),
    });
    const text = await response.text();

    return { status: response.status, body: text ? JSON.parse(text) : null };
}

const request = async (method, params) => (await send({ jsonrpc: '2.0', id: 7, method, params })).body;

// The last message of the state that a tool answers with.
function said(result) {
    assert.equal(result.content.length, 1);
    assert.equal(result.content[0].type, 'text');
    return JSON.parse(result.content[0].text).messages.at(-1).content;
}

test('the TypeScript client lists and calls assistants', async () => {
    const client = await connected();
    const { tools } = await client.listTools();
    const python = tools.find((t) => t.name === 'python');

    assert.equal(client.getServerVersion().name, 'spoolwire');
    assert.deepEqual(tools.map((t) => t.name).sort(), [...GRAPHS, 'python'].sort());
    assert.deepEqual(python.inputSchema.properties.messages, TALK);
    assert.equal(python.description, 'Tool based on the python assistant');
    assert.equal(said(await client.callTool({ name: 'python', arguments: { messages: 'hello' } })), 'You said: hello. What else?');
    const failed = await client.callTool({ name: 'failing', arguments: { messages: 'hello' } });
    assert.equal(failed.isError, true);
    assert.match(failed.content[0].text, /: ./);
    await assert.rejects(client.callTool({ name: 'nobody', arguments: {} }), /Unknown tool: nobody/);
    await client.close();
});

test('the Python client lists and calls assistants', async () => {
    const run = await promisify(execFile)(process.env.PYTHON, [path.join(HERE, 'mcp_client.py'), `${server.url}/mcp`, 'hi there']);
    const got = JSON.parse(run.stdout);

    assert.equal(got.server, 'spoolwire');
    assert.deepEqual(got.tools.map((t) => t.name).sort(), [...GRAPHS, 'python'].sort());
    assert.deepEqual(got.tools.find((t) => t.name === 'python').inputSchema.properties.messages, TALK);
    assert.equal(said(got.called), 'You said: hi there. What else?');
    assert.equal(got.failed.isError, true);
    assert.match(got.refusal, /Unknown tool: nobody/);
});

test('a tool that asks something answers with its question', async () => {
    const { result } = await request('tools/call', { name: 'python', arguments: { messages: 'send it' } });
    const state = JSON.parse(result.content[0].text);

    assert.equal(state.__interrupt__[0].value.question, 'Shall I send it?');
});

test('assistants are tools by their names, each name once', async () => {
    const sdk = await clientOf('1.12.0', server);
    const made = await sdk.assistants.create({ graphId: 'python', name: '  Büro  helper!', description: 'helps' });
    const twins = [];
    for (let i = 0; i < 2; i++) twins.push(await sdk.assistants.create({ graphId: 'python', name: 'twin' }));
    const { tools } = (await request('tools/list')).result;
    const named = tools.filter((t) => t.title === '  Büro  helper!');

    assert.deepEqual(named.map((t) => [t.name, t.description]), [['Bro_helper', 'helps']]);
    assert.equal(tools.filter((t) => t.name === 'twin').length, 1);
    assert.equal(said((await request('tools/call', { name: 'Bro_helper', arguments: { messages: 'x' } })).result), 'You said: x. What else?');
    assert.match((await request('tools/call', { name: 'twin' })).error.message, /Multiple tools/);
    for (const a of [made, ...twins]) await sdk.assistants.delete(a.assistant_id);
});

test('a long list has pages', async () => {
    const sdk = await clientOf('1.12.0', server);
    const made = [];
    for (let i = 0; i < 105; i++) made.push(await sdk.assistants.create({ graphId: 'python', name: `many-${i}` }));
    const client = await connected();
    const first = await client.listTools();
    const second = await client.listTools({ cursor: first.nextCursor });
    const names = [...first.tools, ...second.tools].map((t) => t.name);

    assert.equal(first.nextCursor, '100');
    assert.equal(second.nextCursor, undefined);
    assert.deepEqual(names.filter((n) => n.startsWith('many-')).sort(), made.map((a) => a.name).sort());
    await client.close();
    for (const a of made) await sdk.assistants.delete(a.assistant_id);
});

test('versions are negotiated', async () => {
    for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])
        assert.equal((await request('initialize', { protocolVersion: version })).result.protocolVersion, version);
    assert.equal((await request('initialize', { protocolVersion: '1999-01-01' })).result.protocolVersion, '2025-11-25');
});

test('messages that are none are refused, notifications need no answer', async () => {
    const status = async (...args) => (await send(...args)).status;

    assert.equal(await status({ jsonrpc: '2.0', method: 'notifications/initialized' }), 202);
    assert.equal(await status({ jsonrpc: '2.0', id: 3, result: {} }), 202);
    for (const bad of ['{', '[]', '1', { id: 1, method: 'ping' }, { jsonrpc: '1.0', id: 1, method: 'ping' }, { jsonrpc: '2.0' }, { jsonrpc: '2.0', id: {}, method: 'ping' }])
        assert.equal(await status(bad), 400, JSON.stringify(bad));
    assert.equal(await status({ jsonrpc: '2.0', id: 1, method: 'ping' }, { accept: 'text/html' }), 400);
    assert.deepEqual((await send({ jsonrpc: '2.0', id: 'a', method: 'ping' })).body, { jsonrpc: '2.0', id: 'a', result: {} });
    assert.deepEqual((await send({ jsonrpc: '2.0', id: 0, method: 'resources/list' })).body, {
        jsonrpc: '2.0', id: 0, error: { code: -32601, message: 'Method not found: resources/list' },
    });
    assert.equal((await request('tools/call', {})).error.code, -32602);
    assert.equal((await fetch(`${server.url}/mcp`)).status, 405);
    assert.equal((await fetch(`${server.url}/mcp`, { method: 'DELETE' })).status, 405);
});
