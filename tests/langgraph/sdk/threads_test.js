// The thread-scoped protocol: the stock SDK's thread streams, and the events themselves.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { until } from '../../lib/server.js';
import { clientOf, end, INPUT, QUESTION, serve } from './suite.js';

const VERSION = '1.12.0'; // the first version of the protocol that is in use
const ALL = ['values', 'updates', 'messages', 'tools', 'lifecycle', 'input', 'checkpoints', 'tasks', 'custom'];

let server;
before(async () => {
    server = await serve();
});
after(() => end(server));

const newThread = () => crypto.randomUUID();

async function post(path, body) {
    const response = await fetch(server.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
}

let nextId = 1;
const command = async (thread, method, params) =>
    (await post(`/threads/${thread}/commands`, { id: nextId++, method, params })).body;

// A stream of events that is read in the background.
async function events(thread, filter, headers = {}) {
    const stop = new AbortController();
    const response = await fetch(`${server.url}/threads/${thread}/stream/events`, {
        method: 'POST',
        signal: stop.signal,
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(filter),
    });
    const reader = { status: response.status, list: [], text: '', isOpen: true };

    (async () => {
        try {
            for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
                reader.text += piece;
                const frames = reader.text.split('\n\n');
                reader.text = frames.pop();
                for (const frame of frames) reader.list.push(JSON.parse(/^data: (.*)$/m.exec(frame)[1]));
            }
        } catch {
            // it was stopped, or the server was
        }
        reader.isOpen = false;
    })();
    reader.stop = () => stop.abort();
    reader.until = (what, condition) => until(what, () => reader.list.find(condition));
    return reader;
}

const isRoot = (event, word) =>
    event.method === 'lifecycle' && event.params.namespace.length === 0 && event.params.data.event === word;
const ids = (reader) => reader.list.map((e) => e.event_id);

test('a thread stream of the SDK runs a conversation, with a question in between', async () => {
    const client = await clientOf(VERSION, server);
    const thread = client.threads.stream({ assistantId: 'agent' });
    const texts = [];
    const reading = (async () => {
        for await (const message of thread.messages) texts.push(await message.text);
    })();

    await thread.run.start({ input: INPUT });
    await until('the graph asks', () => thread.interrupts.length > 0);
    assert.deepEqual(thread.interrupts[0].payload, QUESTION);
    await thread.input.respond({ namespace: [], interrupt_id: thread.interrupts[0].interruptId, response: 'yes' });
    const values = await until('the answer is used', async () => {
        const state = await client.threads.getState(thread.threadId);
        return state.next.length === 0 && state.values;
    });
    assert.equal(values.messages.at(-1).content, 'Ok!');
    assert.deepEqual(texts.slice(0, 2), ['Let me check.', 'Subgraph note']);
    await thread.close();
    await reading;
});

test('the stream stays open between runs, and a second reader gets the same events', async () => {
    const thread = newThread();
    const early = await events(thread, { channels: ALL });
    const started = await command(thread, 'run.start', { assistant_id: 'talks', input: INPUT });

    assert.equal(started.type, 'success');
    assert.match(started.result.run_id, /^[0-9a-f-]{36}$/);
    await early.until('the first run ends', (e) => isRoot(e, 'completed'));
    const n = early.list.length;
    await command(thread, 'run.start', { assistant_id: 'talks', input: INPUT });
    await until('the second run ends', () => early.list.filter((e) => isRoot(e, 'completed')).length === 2);
    assert.ok(early.isOpen && early.list.length > n);
    const late = await events(thread, { channels: ALL });
    await until('the replay', () => late.list.length === early.list.length);
    assert.deepEqual(late.list, early.list);
    assert.equal(new Set(ids(late)).size, late.list.length);
    for (let i = 1; i < late.list.length; i++) assert.ok(late.list[i].seq > late.list[i - 1].seq);
    early.stop();
    late.stop();
});

test('both protocols read one log', async () => {
    const client = await clientOf(VERSION, server);
    const thread = newThread();
    const reader = await events(thread, { channels: ['messages', 'lifecycle'] });

    await client.threads.create({ threadId: thread });
    for await (const _ of client.runs.stream(thread, 'talks', { input: INPUT, streamMode: 'values' }));
    await reader.until('its end', (e) => isRoot(e, 'completed'));
    assert.ok(reader.list.some((e) => e.method === 'messages' && e.params.data.event === 'content-block-delta'));
    const { result } = await command(thread, 'run.start', { assistant_id: 'talks', input: INPUT });
    const modes = [];
    for await (const { event } of client.runs.joinStream(thread, result.run_id, { lastEventId: '-1' })) modes.push(event);
    assert.ok(modes.includes('values') && modes.some((m) => m.startsWith('messages')));
    reader.stop();
});

test('channels, namespaces and depth choose events', async () => {
    const thread = newThread();
    await command(thread, 'run.start', { assistant_id: 'agent', input: INPUT });
    const all = await events(thread, { channels: ALL });
    await all.until('its end', (e) => isRoot(e, 'interrupted'));
    const some = async (filter) => {
        const reader = await events(thread, { channels: [...ALL, 'custom:none'], ...filter });
        const wanted = all.list.filter(filter.wanted);

        await until('the same events', () => reader.list.length >= wanted.length);
        assert.ok(wanted.length > 0);
        assert.deepEqual(ids(reader), wanted.map((e) => e.event_id));
        reader.stop();
    };

    await some({ channels: ['values'], wanted: (e) => e.method === 'values' });
    await some({ channels: ['input'], wanted: (e) => e.method === 'input.requested' });
    await some({ namespaces: [[]], depth: 0, wanted: (e) => e.params.namespace.length === 0 });
    await some({ namespaces: [[]], depth: 1, wanted: (e) => e.params.namespace.length <= 1 });
    await some({ namespaces: [['researcher']], wanted: (e) => e.params.namespace[0]?.startsWith('researcher:') });
    const { namespace } = all.list.find((e) => e.params.namespace.length === 2).params;
    await some({ namespaces: [namespace], wanted: (e) => e.params.namespace[1] === namespace[1] });
    all.stop();
});

test('a place is continued, by its number and by its id, and after a restart', async () => {
    const thread = newThread();
    await command(thread, 'run.start', { assistant_id: 'talks', input: INPUT });
    const first = await events(thread, { channels: ALL });
    await first.until('its end', (e) => isRoot(e, 'completed'));
    first.stop();
    const whole = ids(first);
    const at = Math.floor(whole.length / 2);
    await server.restart();
    const continued = async (filter, headers, from) => {
        const reader = await events(thread, { channels: ALL, ...filter }, headers);

        await until('the rest', () => reader.list.length >= whole.length - from);
        assert.deepEqual(ids(reader), whole.slice(from));
        return reader;
    };

    (await continued({ since: first.list[at].seq }, {}, at + 1)).stop();
    (await continued({ since_event_id: whole[at] }, {}, at + 1)).stop();
    (await continued({}, { 'Last-Event-ID': whole[at] }, at + 1)).stop();
    const reader = await continued({}, {}, 0);
    await command(thread, 'run.start', { assistant_id: 'talks', input: INPUT });
    await until('a run after the restart', () => reader.list.filter((e) => isRoot(e, 'completed')).length === 2);
    assert.equal(new Set(ids(reader)).size, reader.list.length);
    reader.stop();
});

test('commands say what is wrong, list checkpoints, and fork', async () => {
    const thread = newThread();
    const code = async (method, params) => (await command(thread, method, params)).error;

    assert.equal(await code('bogus'), 'unknown_command');
    assert.equal(await code('subscription.subscribe', { channels: ['values'] }), 'not_supported');
    assert.equal(await code('state.get', { namespace: [] }), 'no_such_run');
    assert.equal(await code('run.start', { input: INPUT }), 'invalid_argument');
    assert.equal((await post(`/threads/${thread}/commands`, { method: 'run.start' })).body.error, 'invalid_argument');
    await command(thread, 'run.start', { assistant_id: 'agent', input: INPUT });
    const reader = await events(thread, { channels: ['input', 'lifecycle'] });
    await reader.until('the question', (e) => e.method === 'input.requested');
    assert.equal(await code('input.respond', { interrupt_id: 'other', response: 1 }), 'no_such_interrupt');
    await reader.until('its end', (e) => isRoot(e, 'interrupted'));
    const state = await command(thread, 'state.get', { namespace: [], keys: ['messages'] });
    assert.ok(state.result.values.messages.length > 1 && state.result.checkpoint.id);
    const { checkpoints } = (await command(thread, 'state.listCheckpoints', { limit: 2 })).result;
    assert.equal(checkpoints[0].id, state.result.checkpoint.id);
    assert.ok(checkpoints[0].step === checkpoints[1].step + 1 && Date.parse(checkpoints[0].timestamp));
    const older = await command(thread, 'state.listCheckpoints', { before: checkpoints[0].id, limit: 1 });
    assert.equal(older.result.checkpoints[0].id, checkpoints[1].id);
    assert.equal(await code('state.fork', { checkpoint_id: 'other' }), 'no_such_checkpoint');
    const forked = await command(thread, 'state.fork', { checkpoint_id: checkpoints[1].id });
    assert.equal(forked.result.thread_id, thread);
    await until('the fork stops there as well', async () => {
        const run = await (await fetch(`${server.url}/threads/${thread}/runs/${forked.result.run_id}`)).json();
        return run.status === 'success';
    });
    const newest = (await command(thread, 'state.listCheckpoints', { limit: 1 })).result.checkpoints[0];
    assert.ok(newest.id > checkpoints[0].id && newest.metadata.run_id === forked.result.run_id);
    assert.equal((await events(thread, { channels: ['nothing'] })).status, 422);
    assert.equal((await events(thread, { channels: ['values'], depth: -1 })).status, 422);
    reader.stop();
});

test('a thread stream of the SDK lives on its WebSocket alone', async () => {
    const client = await clientOf(VERSION, server);
    const thread = client.threads.stream({ assistantId: 'agent', transport: 'websocket' });
    const texts = [];
    const reading = (async () => {
        for await (const message of thread.messages) texts.push(await message.text);
    })();

    await thread.run.start({ input: INPUT });
    await until('the graph asks', () => thread.interrupts.length > 0);
    await until('its messages', () => texts.length >= 2);
    assert.deepEqual(texts.slice(0, 2), ['Let me check.', 'Subgraph note']);
    await thread.input.respond({ namespace: [], interrupt_id: thread.interrupts[0].interruptId, response: 'yes' });
    await until('the answer is used', async () => {
        const { values } = await thread.state.get({ namespace: [] });
        return values.messages.at(-1).content === 'Ok!';
    });
    await thread.close();
    await reading;
});

// A WebSocket and what has come over it.
async function socket(thread) {
    const ws = new WebSocket(`${server.url.replace('http', 'ws')}/threads/${thread}/stream/events`);
    const got = { list: [], answers: new Map(), send: (id, method, params) => ws.send(JSON.stringify({ id, method, params })) };

    ws.addEventListener('message', ({ data }) => {
        const message = JSON.parse(data);
        if (message.type === 'event') got.list.push(message);
        else got.answers.set(message.id, { ...message, at: got.list.length });
    });
    await new Promise((resolve, reject) => {
        ws.addEventListener('open', resolve, { once: true });
        ws.addEventListener('error', reject, { once: true });
    });
    got.answer = (id) => until(`the answer to ${id}`, () => got.answers.get(id));
    got.close = () => ws.close();
    return got;
}

test('subscriptions of a socket get the past in order, and each event once', async () => {
    const thread = newThread();
    const ws = await socket(thread);

    ws.send(1, 'subscription.subscribe', { channels: ['lifecycle'], namespaces: [[]], depth: 0 });
    assert.equal((await ws.answer(1)).type, 'success');
    ws.send(2, 'run.start', { assistant_id: 'talks', input: INPUT });
    assert.ok((await ws.answer(2)).result.run_id);
    await until('its end', () => ws.list.some((e) => isRoot(e, 'completed')));
    const n = ws.list.length;
    ws.send(3, 'subscription.subscribe', { channels: ['messages', 'lifecycle'] });
    const subscribed = await ws.answer(3);
    assert.equal(subscribed.at, n); // the answer comes before its events
    await until('the past', () => ws.list.slice(n).some((e) => isRoot(e, 'completed')));
    const past = ws.list.slice(n);
    assert.ok(past.some((e) => e.method === 'messages'));
    for (let i = 1; i < past.length; i++) assert.ok(past[i].seq > past[i - 1].seq);
    const m = ws.list.length;
    ws.send(4, 'run.start', { assistant_id: 'talks', input: INPUT });
    await until('the second run', () => ws.list.slice(m).some((e) => isRoot(e, 'completed')));
    const live = ws.list.slice(m);
    assert.equal(new Set(live.map((e) => e.event_id)).size, live.length);
    ws.send(5, 'subscription.unsubscribe', { subscription_id: subscribed.result.subscription_id });
    assert.equal((await ws.answer(5)).type, 'success');
    ws.send(6, 'subscription.unsubscribe', { subscription_id: '77' });
    assert.equal((await ws.answer(6)).error, 'no_such_subscription');
    ws.send(7, 'bogus');
    assert.equal((await ws.answer(7)).error, 'unknown_command');
    ws.send(8, 'run.start', { assistant_id: 'nobody', input: INPUT });
    assert.equal((await ws.answer(8)).error, 'invalid_argument');
    ws.close();
});

// A tree without its ids and namespaces: {graph_name: [status, children]}.
const shape = ({ graph_name, status, children = [] }) => [graph_name, status, ...children.map(shape)];

test('agent.getTree says what each namespace of the last run does', async () => {
    const thread = newThread();
    assert.equal((await command(thread, 'agent.getTree', {})).error, 'no_such_run');
    await post('/threads', { thread_id: thread });
    assert.equal((await command(thread, 'agent.getTree', {})).error, 'no_such_run');
    const tree = async () => (await command(thread, 'agent.getTree', {})).result.tree;
    const reader = await events(thread, { channels: ['lifecycle'] });

    await command(thread, 'run.start', { assistant_id: 'agent', input: INPUT });
    await reader.until('its end', (e) => isRoot(e, 'interrupted'));
    const whole = await tree();
    const told = new Map();
    for (const { params } of reader.list) told.set(params.namespace.join('|'), params.data.event);
    const nodes = [];
    const walk = (node) => nodes.push(node) && (node.children ?? []).forEach(walk);
    walk(whole);
    assert.deepEqual(new Map(nodes.map((n) => [n.namespace.join('|'), n.status])), told); // what the events say
    assert.deepEqual([whole.namespace, whole.graph_name], [[], 'agent']);
    assert.ok(whole.children.some((n) => n.graph_name === 'researcher' && /^researcher:/.test(n.namespace[0])));
    for (const { namespace, children = [] } of nodes)
        for (const child of children) assert.deepEqual(child.namespace.slice(0, -1), namespace);
    await server.restart();
    assert.deepEqual(await tree(), whole);
    await command(thread, 'run.start', { assistant_id: 'endless', input: INPUT });
    await until('the tree of the run at work', async () => String(shape(await tree())) === 'endless,running');
    await command(thread, 'run.start', { assistant_id: 'talks', input: INPUT }); // queued: it has no tree yet
    assert.deepEqual(shape(await tree()), ['endless', 'running']);
    reader.stop();
});

test('a message that is injected is the next thing that the agent reads', async () => {
    const thread = newThread();
    const message = { role: 'user', content: 'and in Rome?' };
    const inject = (params) => command(thread, 'input.inject', { namespace: [], ...params });

    assert.equal((await inject({ message })).error, 'no_such_run');
    const { result: first } = await command(thread, 'run.start', { assistant_id: 'talks', input: INPUT });
    assert.equal((await inject({ message: { role: 'assistant', content: 'no' } })).error, 'invalid_argument');
    assert.equal((await inject({ message: { role: 'user' } })).error, 'invalid_argument');
    assert.equal((await inject({ namespace: ['talk:1'], message })).error, 'not_supported');
    const { result: second } = await inject({ message });
    assert.notEqual(second.run_id, first.run_id);
    await until('both runs have ended', async () => {
        const runs = await (await fetch(`${server.url}/threads/${thread}/runs`)).json();
        return runs.length === 2 && runs.every((run) => run.status === 'success');
    });
    const { messages } = (await command(thread, 'state.get', { namespace: [] })).result.values;
    const said = messages.map((m) => m.content).filter((text) => !text.startsWith('word'));
    assert.deepEqual(said, [INPUT.messages[0].content, message.content]);
    await command(thread, 'run.start', { assistant_id: 'below', input: INPUT });
    await until('the question', async () => (await inject({ message })).error === 'invalid_argument');
});

test('channels of a graph\'s own transformers are named channels of its thread', async () => {
    const client = await clientOf(VERSION, server);
    const thread = client.threads.stream({ assistantId: 'counted' });
    const seen = [];
    const reading = (async () => {
        const channel = await thread.subscribe({ channels: ['custom:seen'] });
        for await (const item of channel) seen.push(item.params.data);
    })();

    await thread.run.start({ input: INPUT });
    assert.deepEqual(await thread.extensions.totals, { deltas: 7, tokens: 18 });
    await until('what was pushed', () => seen.length >= 2);
    assert.deepEqual(seen, [{ name: 'seen', payload: { deltas: 5 } }, { name: 'seen', payload: { deltas: 7 } }]);
    // Clients of runs see what the graph itself has sent.
    const { threadId } = thread;
    const [run] = await client.runs.list(threadId);
    const modes = new Set();
    for await (const { event } of client.runs.joinStream(threadId, run.run_id, { lastEventId: '-1' })) modes.add(event.split('|')[0]);
    assert.ok(modes.has('custom'), 'the subgraph writes');
    for await (const { event, data } of client.runs.joinStream(threadId, run.run_id, { lastEventId: '-1', streamMode: 'custom' }))
        if (event.startsWith('custom')) assert.equal(data.kind, 'sub-custom');
    await thread.close();
    await reading;
});

test('who opens a thread while a run is at work does not see older runs end', async () => {
    const thread = newThread();
    const first = await events(thread, { channels: ['lifecycle', 'values'] });
    await command(thread, 'run.start', { assistant_id: 'talks', input: INPUT });
    await first.until('its end', (e) => isRoot(e, 'completed'));
    await command(thread, 'run.start', { assistant_id: 'talks', input: INPUT });
    const late = await events(thread, { channels: ['lifecycle', 'values'] });
    await until('both ends', () => first.list.filter((e) => isRoot(e, 'completed')).length === 2);
    await late.until('the end', (e) => isRoot(e, 'completed'));
    const ends = first.list.filter((e) => isRoot(e, 'completed'));
    assert.deepEqual(late.list, first.list.filter((e) => e !== ends[0]));
    first.stop();
    late.stop();
});

// The stream of a thread's runs, read in the background.
async function join(thread, place, query = '') {
    const stop = new AbortController();
    const headers = place === undefined ? {} : { 'Last-Event-ID': place };
    const response = await fetch(`${server.url}/threads/${thread}/stream${query}`, { headers, signal: stop.signal });
    const reader = { status: response.status, list: [], stop: () => stop.abort() };
    const isDone = ({ data }) => data.status === 'run_done';
    const field = (frame, name) => new RegExp(`^${name}: (.*)$`, 'm').exec(frame)[1];

    (async () => {
        let text = '';
        try {
            for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
                text += piece;
                const frames = text.split('\n\n');
                text = frames.pop();
                for (const frame of frames)
                    reader.list.push({ id: field(frame, 'id'), event: field(frame, 'event'), data: JSON.parse(field(frame, 'data')) });
            }
        } catch {
            // it was stopped
        }
    })();
    reader.ends = () => reader.list.filter(isDone);
    reader.runs = async (n) => {
        await until(`${n} ends of runs`, () => reader.ends().length >= n);
        reader.stop();
        return reader.list;
    };
    return reader;
}

test('a thread is joined: from now on, from its beginning, and behind an event, also after a restart', async () => {
    const client = await clientOf(VERSION, server);
    const { thread_id: thread } = await client.threads.create();
    const live = await join(thread);

    await client.runs.wait(thread, 'talks', { input: INPUT });
    await client.runs.wait(thread, 'agent', { input: INPUT, streamMode: ['values', 'messages-tuple'] });
    const all = await live.runs(2);
    const runs = (await client.runs.list(thread)).map((r) => r.run_id).reverse();
    assert.deepEqual(live.ends().map(({ data }) => data.run_id), runs);
    assert.deepEqual(all.filter(({ data }) => data.attempt).map(({ data }) => data.run_id), runs);
    assert.equal(new Set(all.map((p) => p.id)).size, all.length);
    const own = [];
    for await (const part of client.runs.joinStream(thread, runs[1], { lastEventId: '-1' })) own.push([part.event, part.data]);
    const first = all.indexOf(live.ends()[0]);
    assert.deepEqual(all.slice(first + 1, -1).map((p) => [p.event, p.data]), own); // as its own stream
    await server.restart();
    for (const at of [0, 2, first - 1, first, all.length - 3])
        assert.deepEqual(await (await join(thread, all[at].id)).runs(at < first ? 2 : 1), all.slice(at + 1));
    assert.deepEqual(await (await join(thread, '-', '?stream_mode=lifecycle')).runs(2), all.filter((p) => p.event === 'metadata'));
    const parts = [];
    for await (const { id, event, data } of client.threads.joinStream(thread, { lastEventId: '-' })) {
        parts.push({ id, event, data });
        if (parts.length === all.length) break;
    }
    assert.deepEqual(parts, all);
    const later = await join(thread);
    await client.runs.wait(thread, 'talks', { input: INPUT });
    assert.deepEqual([(await later.runs(1))[0].event, later.list[0].data.attempt], ['metadata', 1]);
    assert.equal((await join('00000000-0000-4000-8000-000000000000')).status, 404);
    assert.equal((await join(thread, '-', '?stream_modes=run_modes,lifecycles')).status, 422);
});
