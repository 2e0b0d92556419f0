// Threads and runs through the stock SDKs: every method, and what happens to runs in between.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { until } from '../../lib/server.js';
import { clientOf, collect, end, INPUT, ofMode, QUESTION, serve, VERSIONS } from './suite.js';

let server;
before(async () => {
    server = await serve();
});
after(() => end(server));

const says = (parts) => ofMode(parts, 'messages').map(([m]) => m.content).join('');
const SAID = Array.from({ length: 60 }, (_, i) => `word${i} `).join('');
const tokens = { input: INPUT, streamMode: 'messages-tuple' };

for (const version of VERSIONS) {
    const started = async () => {
        const client = await clientOf(version, server);
        return { client, thread: (await client.threads.create()).thread_id };
    };

    test(`${version}: threads are made, found, changed, copied and deleted`, async () => {
        const client = await clientOf(version, server);
        const mark = `mark-${version}`;
        const made = await client.threads.create({ metadata: { mark }, graphId: 'agent' });
        const found = await client.threads.search({ metadata: { mark }, limit: 5 });

        assert.deepEqual(found.map((t) => t.thread_id), [made.thread_id]);
        assert.deepEqual([made.status, made.metadata.mark], ['idle', mark]);
        assert.equal(await client.threads.count({ metadata: { mark } }), 1);
        const changed = await client.threads.update(made.thread_id, { metadata: { more: 1 } });
        assert.deepEqual([changed.metadata.mark, changed.metadata.more], [mark, 1]);
        const copy = await client.threads.copy(made.thread_id);
        assert.notEqual(copy.thread_id, made.thread_id);
        await client.threads.delete(made.thread_id);
        await assert.rejects(client.threads.get(made.thread_id), /404/);
        const again = await client.threads.create({ threadId: copy.thread_id, ifExists: 'do_nothing' });
        assert.equal(again.thread_id, copy.thread_id);
        await assert.rejects(client.threads.create({ threadId: copy.thread_id }), /409/);
        if (version !== '1.6.0') {
            const pruned = await client.threads.prune([copy.thread_id]);
            assert.equal(pruned.pruned_count, 1);
        }
    });

    test(`${version}: a run is made, joined, listed, looked at and deleted`, async () => {
        const { client, thread } = await started();
        const run = await client.runs.create(thread, 'talks', tokens);

        assert.match(run.status, /^(pending|running)$/);
        const values = await client.runs.join(thread, run.run_id);
        assert.equal(values.messages.at(-1).content, SAID);
        assert.equal((await client.runs.get(thread, run.run_id)).status, 'success');
        assert.deepEqual((await client.runs.list(thread)).map((r) => r.run_id), [run.run_id]);
        const joined = await collect(client.runs.joinStream(thread, run.run_id, { lastEventId: '-1', streamMode: ['messages-tuple'] }));
        assert.equal(says(joined), SAID);
        await client.runs.delete(thread, run.run_id);
        await assert.rejects(client.runs.get(thread, run.run_id), /404/);
    });

    test(`${version}: a stream is joined at any place, with the same ids`, async () => {
        const { client, thread } = await started();
        let run;
        const all = await collect(
            client.runs.stream(thread, 'talks', { ...tokens, streamResumable: true, onRunCreated: (r) => (run = r.run_id) }),
        );
        const join = (lastEventId) => collect(client.runs.joinStream(thread, run, { lastEventId, streamMode: ['messages-tuple'] }));

        assert.deepEqual(await join('-1'), all);
        assert.deepEqual(await join(all[9].id), all.slice(10));
    });

    test(`${version}: wait gives the last state, the question, or the error`, async () => {
        const { client, thread } = await started();
        assert.equal((await client.runs.wait(thread, 'talks', { input: INPUT })).messages.at(-1).content, SAID);
        const asked = await client.runs.wait((await client.threads.create()).thread_id, 'agent', { input: INPUT });
        assert.deepEqual(asked.__interrupt__.map((i) => i.value), [QUESTION]);
        const other = (await client.threads.create()).thread_id;
        await assert.rejects(client.runs.wait(other, 'failing', { input: INPUT }), /RangeError: boom: deliberate failure/);
    });

    test(`${version}: a question is answered by its id`, async () => {
        const { client, thread } = await started();
        const asked = await client.runs.wait(thread, 'agent', { input: INPUT });
        const values = await client.runs.wait(thread, 'agent', { command: { resume: { [asked.__interrupt__[0].id]: 'no' } } });

        assert.equal(values.approved, 'no');
        assert.equal((await client.threads.get(thread)).status, 'idle');
    });

    test(`${version}: a cancelled run ends as interrupted, and its stream ends`, async () => {
        const { client, thread } = await started();
        let run;
        const got = [];
        for await (const part of client.runs.stream(thread, 'endless', { input: INPUT, streamMode: 'custom', onRunCreated: (r) => (run = r.run_id) })) {
            got.push(part);
            if (got.length === 3) await client.runs.cancel(thread, run, true);
        }
        assert.equal((await client.runs.get(thread, run)).status, 'interrupted');
    });

    test(`${version}: several runs of a thread: reject, enqueue, interrupt, rollback`, async () => {
        const { client, thread } = await started();
        const start = (multitaskStrategy) => client.runs.create(thread, 'endless', { input: INPUT, multitaskStrategy });
        const status = async ({ run_id }) => (await client.runs.get(thread, run_id)).status;
        const first = await start('enqueue');

        await until('it runs', async () => (await status(first)) === 'running');
        await assert.rejects(start('reject'), /42[29]|409/);
        const second = await start('enqueue');
        assert.equal(await status(second), 'pending');
        const third = await start('interrupt');
        await until('the others make room', async () => (await status(first)) === 'interrupted');
        await until('it runs', async () => (await status(third)) === 'running');
        const fourth = await start('rollback');
        await until('it runs', async () => (await status(fourth)) === 'running');
        await assert.rejects(status(third), /404/);
        await client.runs.cancel(thread, fourth.run_id, true);
    });

    test(`${version}: runs without a thread, and many at a time`, async () => {
        const client = await clientOf(version, server);
        assert.equal(says(await collect(client.runs.stream(null, 'talks', tokens))), SAID);
        assert.equal((await client.runs.wait(null, 'talks', { input: INPUT })).messages.at(-1).content, SAID);
        const runs = await client.runs.createBatch(['talks', 'talks'].map((assistantId) => ({ assistantId, input: INPUT })));
        assert.equal(runs.length, 2);
    });

    test(`${version}: what is not there is refused, and not tried again`, async () => {
        const { client, thread } = await started();
        await assert.rejects(client.runs.create(thread, 'nobody', { input: {} }), /40[04]|422/);
        await assert.rejects(client.threads.get('01a1dcbb-469a-72bb-a6ec-e961e4c3b9c6'), /404/);
        await assert.rejects(client.runs.get(thread, '01a1dcbb-469a-72bb-a6ec-e961e4c3b9c6'), /404/);
    });
}

for (const version of VERSIONS)
    test(`${version}: a graph in Python streams, asks, and is answered`, async () => {
        const client = await clientOf(version, server);
        const { thread_id } = await client.threads.create();
        const human = (content) => ({ messages: [{ role: 'user', content }] });
        const got = await collect(
            client.runs.stream(thread_id, 'python', { input: human('hello'), streamMode: ['messages-tuple', 'values'] }),
        );

        assert.equal(says(got), 'You said: hello. What else?');
        assert.ok(ofMode(got, 'messages').length > 5);
        assert.equal(ofMode(got, 'values').at(-1).messages.at(-1).content, says(got));
        const asked = await client.runs.wait(thread_id, 'python', { input: human('send it') });
        assert.equal(asked.__interrupt__[0].value.question, 'Shall I send it?');
        const values = await client.runs.wait(thread_id, 'python', { command: { resume: 'yes' } });
        assert.deepEqual(values.messages.map((m) => m.content).slice(2), ['send it', 'It is sent.']);
    });

test('a run goes on over a restart of the server, and its stream is joined', async () => {
    const client = await clientOf('1.12.0', server);
    const thread = (await client.threads.create()).thread_id;
    const run = await client.runs.create(thread, 'slow', { input: INPUT, streamMode: ['custom', 'values'] });
    const before = [];

    for await (const part of client.runs.joinStream(thread, run.run_id, { streamMode: ['custom'] })) {
        before.push(part);
        if (ofMode(before, 'custom').length === 3) break;
    }
    await server.restart();
    const behind = await collect(client.runs.joinStream(thread, run.run_id, { lastEventId: before.at(-1).id, streamMode: ['custom', 'values'] }));
    assert.equal(ofMode(behind, 'values').at(-1).messages.at(-1).content, 'done');
    assert.equal((await client.runs.get(thread, run.run_id)).status, 'success');
    const all = await collect(client.runs.joinStream(thread, run.run_id, { lastEventId: '-1', streamMode: ['custom'] }));
    assert.deepEqual(all.slice(0, before.length), before);
});

test('who joins a run that has ended gets all of it once, then its end, and with a place what follows', async () => {
    const client = await clientOf('1.12.0', server);
    const names = async (thread, run, options) => (await collect(client.runs.joinStream(thread, run, options))).map((p) => p.event);
    const { thread_id: thread } = await client.threads.create();
    const { run_id: created } = await client.runs.create(thread, 'talks', { input: INPUT, streamMode: ['values'] });

    await client.runs.join(thread, created);
    const all = await names(thread, created, {});
    assert.deepEqual([all[0], all.at(-1)], ['metadata', 'values']);
    await until('that somebody has read it is stored', async () => (await names(thread, created, {})).length === 0);
    await server.restart();
    assert.deepEqual(await names(thread, created, {}), []);
    assert.deepEqual(await names(thread, created, { lastEventId: '-1' }), all);
    const parts = await collect(client.runs.joinStream(thread, created, { lastEventId: '-1' }));
    assert.deepEqual(await names(thread, created, { lastEventId: parts[0].id }), all.slice(1));
    // One that was streamed has been read.
    let streamed;
    for await (const { event, data } of client.runs.stream(thread, 'talks', { input: INPUT })) if (event === 'metadata') streamed = data.run_id;
    assert.deepEqual(await names(thread, streamed, {}), []);
    assert.deepEqual((await names(thread, streamed, { lastEventId: '-1' }))[0], 'metadata');
    // The end of one that has failed is its error.
    const { run_id: failed } = await client.runs.create(thread, 'failing', { input: INPUT });
    await client.runs.join(thread, failed);
    assert.deepEqual((await names(thread, failed, {})).at(-1), 'error');
    await until('only the error', async () => String(await names(thread, failed, {})) === 'error');
});

test('a run with subgraphs is joined with the namespaces in the names of its events', async () => {
    const client = await clientOf('1.12.0', server);
    const { thread_id: thread } = await client.threads.create();
    const options = { input: INPUT, streamMode: ['values', 'messages-tuple', 'custom'], streamSubgraphs: true };
    const streamed = await collect(client.runs.stream(thread, 'agent', options));
    const run = streamed[0].data.run_id;
    const joined = await collect(client.runs.joinStream(thread, run, { lastEventId: '-1' }));

    assert.deepEqual(joined, streamed);
    assert.ok(joined.some((p) => /^custom\|researcher:/.test(p.event)) && joined.some((p) => /^messages\|/.test(p.event)));
});
