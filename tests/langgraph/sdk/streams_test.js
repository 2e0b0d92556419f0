// Streams of the stock SDKs are those that LangGraph's own server sends for the same graph.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { WAIT_MS } from '../../lib/server.js';
import { captured, comparable } from './captured.js';
import { clientOf, collect, end, INPUT, ofMode, QUESTION, serve, VERSIONS } from './suite.js';

let server;
before(async () => {
    server = await serve();
});
after(() => end(server));

const MODES = ['values', 'updates', 'messages-tuple', 'custom'];

// The server of the captures sends checkpoints that nobody has asked for.
const withoutCheckpoints = (parts) => parts.filter(({ event }) => !event.startsWith('checkpoints'));

for (const version of VERSIONS) {
    const started = async () => {
        const client = await clientOf(version, server);
        return { client, thread: (await client.threads.create()).thread_id };
    };

    for (const [streamSubgraphs, first, second] of [
        [false, '01-all-modes-until-interrupt', '02-all-modes-resume'],
        [true, '03-all-modes-subgraphs-until-interrupt', '04-all-modes-subgraphs-resume'],
    ])
        test(`${version}: until the question and behind it, ${streamSubgraphs ? 'with' : 'without'} subgraphs`, async () => {
            const { client, thread } = await started();
            const options = { streamMode: MODES, streamSubgraphs };
            const until = await collect(client.runs.stream(thread, 'agent', { input: INPUT, ...options }));
            const behind = await collect(client.runs.stream(thread, 'agent', { command: { resume: 'yes' }, ...options }));

            assert.equal(until[0].event, 'metadata');
            assert.ok(comparable(until).length > 15 && comparable(behind).length > 7);
            assert.deepEqual(comparable(until), comparable(withoutCheckpoints(captured(first))));
            assert.deepEqual(comparable(behind), comparable(withoutCheckpoints(captured(second))));
        });

    test(`${version}: the modes of checkpoints, tasks and debug`, async () => {
        const { client, thread } = await started();
        const told = await collect(client.runs.stream(thread, 'agent', { input: INPUT, streamMode: ['tasks', 'checkpoints'] }));
        assert.deepEqual(
            comparable(told).map(({ mode }) => mode),
            comparable(captured('11-tasks-checkpoints-tools')).map(({ mode }) => mode),
        );
        const other = (await client.threads.create()).thread_id;
        const debug = await collect(client.runs.stream(other, 'agent', { input: INPUT, streamMode: 'debug' }));
        assert.deepEqual(
            ofMode(debug, 'debug').map(({ type, step }) => [type, step]),
            ofMode(captured('10-debug'), 'debug').map(({ type, step }) => [type, step]),
        );
        const places = ({ metadata, checkpoint, parent_checkpoint }) => ({ step: metadata.step, checkpoint, parent_checkpoint });
        const said = ofMode(debug, 'debug').filter(({ type }) => type === 'checkpoint').map(({ payload }) => places(payload));
        assert.deepEqual(said.reverse(), (await client.threads.getHistory(other)).map(places));
    });

    test(`${version}: the mode of events`, async () => {
        const { client, thread } = await started();
        const names = (parts) =>
            ofMode(parts, 'events')
                .map(({ event, name }) => `${event} ${name}`)
                .sort();
        const modes = { streamMode: [...MODES, 'events'] };
        const asked = await collect(client.runs.stream(thread, 'agent', { input: INPUT, ...modes }));
        const behind = await collect(client.runs.stream(thread, 'agent', { command: { resume: 'yes' }, ...modes }));

        for (const [got, name] of [[asked, '01-all-modes-until-interrupt'], [behind, '02-all-modes-resume']]) {
            assert.deepEqual(names(got), names(captured(name)));
            assert.deepEqual(comparable(got), comparable(captured(name)));
        }
    });

    test(`${version}: an error is the last event`, async () => {
        const { client, thread } = await started();
        const got = await collect(client.runs.stream(thread, 'failing', { input: INPUT }));

        assert.deepEqual(comparable(got), comparable(captured('12-error')));
        assert.equal(got.at(-1).event, 'error');
    });

    test(`${version}: names as the server has them: deltas, and never the old format unasked`, async () => {
        const { client, thread } = await started();
        const got = await collect(client.runs.stream(thread, 'agent', { input: INPUT, streamMode: MODES, streamSubgraphs: true }));
        const tokens = ofMode(got, 'messages').filter(([m]) => m.id === 'msg-agent-1');

        assert.ok(!got.some(({ event }) => event.startsWith('messages/')));
        assert.deepEqual(tokens.slice(0, 2).map(([m]) => m.content), ['Let me ', 'check.']);
        assert.ok(tokens.every(([, metadata]) => metadata.langgraph_node === 'agent'));
        assert.ok(got.some(({ event }) => event.startsWith('messages|researcher:')));
    });

    test(`${version}: tokens come one by one`, async () => {
        const { client, thread } = await started();
        const signal = AbortSignal.timeout(WAIT_MS);
        const words = [];
        const ask = () => fs.writeFileSync(path.join(server.folder, `${thread}-${words.length}`), '');

        ask();
        for await (const { event, data } of client.runs.stream(thread, 'paced', { input: INPUT, streamMode: 'messages-tuple', signal })) {
            if (event !== 'messages') continue;
            words.push(data[0].content);
            ask(); // only now is there another
        }
        assert.deepEqual(words, Array.from({ length: 10 }, (_, i) => `word${i} `));
    });

    for (const also of [[], ['values', 'updates'], ['events']])
        test(`${version}: messages that a node pushes come with every content, and their removal: ${also}`, async () => {
            const { client, thread } = await started();
            const got = await collect(client.runs.stream(thread, 'pushes', { input: INPUT, streamMode: ['messages-tuple', ...also] }));
            const said = ofMode(got, 'messages').map(([m]) => [m.type, m.id, String(m.content)]);

            const wanted = [
                ...['10 %', '50 %', '100 %'].map((content) => ['ai', 'msg-progress', content]),
                ['remove', 'msg-progress', ''],
                ['ai', 'msg-kept', 'Done.'],
            ];
            // An event tells the end of a node before its last messages come.
            assert.deepEqual(...[said, wanted].map((list) => (also.includes('events') ? list.sort() : list)));
            const { values } = await client.threads.getState(thread);
            assert.deepEqual(values.messages.map((m) => m.id), ['msg-human-1', 'msg-kept']);
        });

    test(`${version}: an interrupt is a question of the thread`, async () => {
        const { client, thread } = await started();
        const got = await collect(client.runs.stream(thread, 'agent', { input: INPUT, streamMode: ['values', 'updates'] }));

        for (const mode of ['values', 'updates'])
            assert.deepEqual(ofMode(got, mode).at(-1).__interrupt__.map((i) => i.value), [QUESTION]);
        const { status, interrupts } = await client.threads.get(thread);
        assert.equal(status, 'interrupted');
        assert.deepEqual(Object.values(interrupts).flat().map((i) => i.value), [QUESTION]);
    });
}
