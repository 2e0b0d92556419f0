// The kit for LangGraph.js: real graphs behind the real server, with workers that fetch jobs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Graph } from '../../../clients/typescript/src/node/graph.js';
import { encode } from '../../../clients/typescript/src/node/plain.js';
import { Run } from '../../../clients/typescript/src/node/run.js';
import { Wire } from '../../../clients/typescript/src/node/wire.js';
import { answer, cancel, submit, subscribe } from '../../../clients/typescript/src/index.js';
import { kill, project, Server, start, until } from '../../lib/server.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const RUN = path.join(HERE, '../../../clients/typescript/bin/spoolwire-run.js');
const AGENTS = ['chats', 'fails', 'steps', 'counts', 'remembers', 'makes', 'branches', 'functional'];

let folder;
let server;
let worker;

const note = (name) => path.join(folder, name);
const work = (...more) =>
    start(process.execPath, [RUN, '--pull', ...more, ...AGENTS.map((a) => `${a}=./graphs.mjs:${a}`)], {
        cwd: folder,
        env: { SPOOLWIRE_URL: server.url },
    });

before(async () => {
    folder = project({ 'graphs.mjs': path.join(HERE, 'graphs.mjs') });
    const lost = 'lease: 8s, attempts: 3, cancel_grace: 30s'; // for the one whose workers are
    const agents = AGENTS.map((a) => `  ${a}: {pull: true${a === 'steps' ? `, ${lost}` : ''}}\n`);
    fs.writeFileSync(note('x.yaml'), `demo: false\nagents:\n  direct: {pull: true}\n${agents.join('')}`);
    server = await new Server(['serve', '--config', 'x.yaml', '--data', 'x.db'], { cwd: folder }).start();
    worker = work();
});
after(async () => {
    await kill(worker);
    await server?.stop();
    fs.rmSync(folder ?? '', { recursive: true, force: true });
});

// What the steps of a job have noted.
const notes = (id) =>
    (fs.existsSync(note('notes')) ? fs.readFileSync(note('notes'), 'utf8') : '')
        .split('\n')
        .filter((line) => line.startsWith(id))
        .map((line) => line.split(' ')[1]);
const saved = async (thread) => {
    const response = await fetch(`${server.url}/v1/worker/threads/${thread}/checkpoints/get`, {
        method: 'POST',
        body: '{"ns":""}',
    });
    return (await response.json()).checkpoint;
};
const read = (job, dialect = 'agent') => Array.fromAsync(subscribe(job, { ...server, dialect }));
const job = async (agent, input = {}) => (await submit(agent, input, server)).job_id;
const says = (content) => ({ messages: [{ role: 'user', content }] });
const state = async (id) => (await server.get(`/v1/jobs/${id}`)).state;
const customs = (events) => events.filter((e) => e.event === 'custom').map((e) => e.data);
const messages = async (id) =>
    Array.fromAsync(subscribe(id, { ...server, dialect: 'messages', modes: ['custom', 'values', 'updates'] }));

test('tokens come one by one, and the job has its output', async () => {
    const id = await job('chats', says('hello'));
    const tokens = (await read(id)).filter((e) => e.event === 'agent.token').map((e) => e.data.token);

    assert.equal(tokens.join(''), 'one two three');
    assert.equal(tokens.length, 'one two three'.length);
    assert.equal(await state(id), 'succeeded');
});

test('a question is asked, and its answer goes on with the run', async () => {
    const id = await job('chats', says('ask'));

    for await (const { event } of subscribe(id, server))
        if (event === 'graph.interrupt') await answer(id, { value: 'yes' }, server);
    const last = (await messages(id)).filter((e) => e.event === 'values').at(-1).data;
    assert.equal(last.messages.at(-1).content, 'You said yes');
});

test('an error is the job’s error', async () => {
    const id = await job('fails', says('x'));
    const { data } = (await read(id)).at(-1);
    const row = await server.get(`/v1/jobs/${id}`);

    assert.equal(data.type, 'job.failed');
    assert.deepEqual([row.state, row.error, row.error_type], ['failed', 'deliberate', 'RangeError']);
});

test('a cancel aborts the graph’s signal', async () => {
    const id = await job('steps');
    for await (const { event } of subscribe(id, { ...server, dialect: 'messages', modes: ['custom'] }))
        if (event === 'custom') await cancel(id, server).catch(() => {}); // it may have ended
    assert.equal(await state(id), 'cancelled');
});

test('a function may make the graph, and what it prints is no event', async () => {
    const id = await job('makes');
    assert.deepEqual((await messages(id)).filter((e) => e.event === 'values').at(-1).data, { done: ['made'] });
});

test('what a run puts into the store, another finds there', async () => {
    for (const n of [1, 2]) {
        const last = (await messages(await job('remembers'))).filter((e) => e.event === 'values').at(-1);
        assert.deepEqual(last.data, { done: [n, 1] });
    }
});

test('a worker that is killed in mid-run: another goes on from the checkpoint, and is not disturbed', async () => {
    const id = await job('steps');
    await until('the first step is saved', async () => (await saved(id))?.metadata.step === 1);
    await until('the second has begun', () => notes(id).includes('second'));
    await kill(worker);
    worker = work();
    await until('another attempt', async () => (await server.get(`/v1/jobs/${id}`)).attempt === 2);
    fs.writeFileSync(note('go'), '');
    const events = await messages(id);
    fs.rmSync(note('go'));

    assert.deepEqual(events.filter((e) => e.event === 'values').at(-1).data, { done: ['first', 'second', 'third'] });
    assert.deepEqual(notes(id), ['first', 'second', 'second', 'third'], 'the first step is done once');
});

test('a worker that was given up for lost is refused, and disturbs nobody', async () => {
    const id = await job('steps');
    await until('the first step is saved', async () => (await saved(id))?.metadata.step === 1);
    worker.kill('SIGSTOP');
    const other = work();
    await until('another has it', async () => (await server.get(`/v1/jobs/${id}`)).attempt === 2);
    worker.kill('SIGCONT');
    await until('it has tried', () => /"path":"\/v1\/worker[^}]*"status":409/.test(server.child.text));
    fs.writeFileSync(note('go'), '');
    const events = await messages(id);
    fs.rmSync(note('go'));

    assert.deepEqual(events.filter((e) => e.event === 'values').at(-1).data, { done: ['first', 'second', 'third'] });
    assert.equal((await server.get(`/v1/jobs/${id}`)).attempt, 2);
    assert.equal(worker.exitCode, null, 'it goes on with other jobs');
    await kill(other);
});

test('a paused job stops behind its step, and goes on', async () => {
    const id = await job('steps');
    const post = (what) => fetch(`${server.url}/v1/jobs/${id}/${what}`, { method: 'POST' });

    await until('the second step', () => notes(id).includes('second'));
    assert.equal((await post('pause')).status, 200);
    // It hears of that with the answer to its next beat; the one after shows that it has.
    const beats = () => server.child.text.split(`/v1/worker/jobs/${id}/heartbeat"`).length;
    const before = beats();
    await until('it has heard', () => beats() > before + 1);
    fs.writeFileSync(note('go'), '');
    await until('it has stopped', async () => (await state(id)) === 'waiting');
    assert.deepEqual(notes(id), ['first', 'second']);
    assert.equal((await post('resume')).status, 200);
    await until('it has ended', async () => (await state(id)) === 'succeeded');
    fs.rmSync(note('go'));
    assert.deepEqual(notes(id), ['first', 'second', 'third']);
});

test('a job that is paused before its first lease starts', async () => {
    await kill(worker, 'SIGTERM');
    const id = await job('makes');
    const post = (what) => fetch(`${server.url}/v1/jobs/${id}/${what}`, { method: 'POST' });

    assert.equal((await post('pause')).status, 200);
    assert.equal((await post('resume')).status, 200);
    worker = work();
    await until('it has ended', async () => (await state(id)) === 'succeeded');
});

// An order that no worker of the suite takes.
async function lease(wire) {
    await job('direct');
    return wire.post('/v1/worker/lease', { agents: ['direct'], worker: 'test', wait: 10 });
}

test('an order to go on with what was never begun is a start', async () => {
    const graph = await Graph.load(path.join(folder, 'graphs.mjs:makes'));
    const wire = new Wire({ url: server.url });

    for (const [attempt, resume] of [[1, {}], [2, {}], [2, { q: 'an answer' }]]) {
        const order = { ...(await lease(wire)), attempt, resume };
        const finish = await new Run(graph, order, wire, () => {}).run();
        assert.deepEqual(finish, { status: 'success', output: { done: ['made'] } });
    }
    wire.close();
});

test('a run whose state was changed meanwhile goes on from the change', async () => {
    const graph = await Graph.load(path.join(folder, 'graphs.mjs:pair'));
    const wire = new Wire({ url: server.url });
    const order = { ...(await lease(wire)), run: { interrupt_before: ['second'] } };
    const work = async (more) => (await new Run(graph, { ...order, ...more }, wire, () => {}).run()).output;

    await work({});
    const compiled = await graph.compiled({}, new graph.Saver(wire, { job: order.job, lease: order.lease }), undefined);
    await compiled.updateState({ configurable: { thread_id: order.job } }, { done: ['changed'] });
    const { done } = await work({ attempt: 2, resume: {} });

    wire.close();
    assert.deepEqual(done, ['first', 'changed', 'second']);
});

test('a run that began at an older checkpoint goes on where it was', async () => {
    const graph = await Graph.load(path.join(folder, 'graphs.mjs:pair'));
    const wire = new Wire({ url: server.url });
    const order = { ...(await lease(wire)), run: { interrupt_before: ['second'] } };
    const work = async (more) => (await new Run(graph, { ...order, ...more }, wire, () => {}).run()).output;

    await work({});
    const { parent } = await saved(order.job);
    const fork = { input: null, run: { ...order.run, checkpoint_id: parent } };
    assert.equal(await work(fork), undefined); // it waits before its second step, and has no output yet
    const { done } = await work({ ...fork, attempt: 2, resume: {} });

    wire.close();
    assert.deepEqual(done, ['first', 'second']);
});

// As LangGraph's server shows it.
const shown = ({ values, next, tasks, metadata, createdAt, config, parentConfig }) => {
    const place = (given) => given && { checkpoint_map: null, ...given.configurable };
    const questions = tasks.flatMap((t) => t.interrupts);

    return JSON.parse(
        encode({
            checkpoint: place(config),
            parent_checkpoint: place(parentConfig) ?? null,
            values,
            next,
            tasks: tasks.map(({ id, name, error, path: at, interrupts, result, state: below }) => ({
                id,
                name,
                error: error ?? null,
                interrupts,
                path: at,
                checkpoint: below?.configurable ?? null,
                state: null,
                result: result ?? null,
            })),
            metadata,
            created_at: createdAt,
            interrupts: questions,
            checkpoint_id: config.configurable.checkpoint_id,
            parent_checkpoint_id: parentConfig?.configurable.checkpoint_id ?? null,
        }),
    );
};

test('the history is what the graph says of its checkpoints', async () => {
    const wire = new Wire({ url: server.url });
    const post = (at, body) => wire.post(`/threads${at}`, body);

    for (const [agent, input] of [['branches', { done: ['begin'] }], ['functional', 1], ['chats', says('hello')]]) {
        const graph = await Graph.load(path.join(folder, `graphs.mjs:${agent}`));
        const compiled = await graph.compiled({}, new graph.Saver(wire), undefined);
        const { thread_id: thread } = await post('', {});
        const history = (more = {}) => post(`/${thread}/history`, { limit: 100, ...more });
        const told = async (ns = '') =>
            (await Array.fromAsync(compiled.getStateHistory({ configurable: { thread_id: thread, checkpoint_ns: ns } }))).map(shown);

        await post(`/${thread}/runs/wait`, { assistant_id: agent, input });
        assert.deepEqual(await history(), await told());
        if (agent === 'branches') {
            await post(`/${thread}/runs/wait`, { assistant_id: agent, command: { resume: 'yes' } });
            const last = await history();
            assert.deepEqual(last, await told());
            assert.deepEqual(last.at(3).tasks.map((t) => [t.path[0], t.result]), Array(2).fill(['__pregel_push', { done: ['sent'] }]));
            const ns = last.flatMap((s) => s.tasks).find((t) => t.checkpoint).checkpoint.checkpoint_ns;
            const below = await history({ checkpoint: { checkpoint_ns: ns } });
            assert.deepEqual([below.length, below], [4, await told(ns)]);
        }
        const whole = await history(); // one by one, and in pages, the same
        for (const [n, one] of whole.entries()) {
            assert.deepEqual(await server.get(`/threads/${thread}/state/${one.checkpoint_id}`), one);
            assert.deepEqual(await history({ before: one.checkpoint_id, limit: 2 }), whole.slice(n + 1, n + 3));
        }
    }
    wire.close();
});

test('the server is killed in mid-run: nothing is lost and nothing comes twice', async () => {
    const id = await job('counts');
    let restarted;

    for await (const { event, data } of subscribe(id, { ...server, dialect: 'messages', modes: ['custom'] }))
        if (event === 'custom' && data.count === 40) restarted = server.restart();
    await restarted;
    assert.deepEqual(
        customs(await messages(id)),
        Array.from({ length: 300 }, (_, count) => ({ count })),
    );
    assert.equal((await server.get(`/v1/jobs/${id}`)).attempt, 1);
});
