// The engine behind `useStream` (StreamManager), fed by the stock client over HTTP: what a chat
// page shows after a run.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { questions } from './events.js';
import { frames, recording, recordings } from './filter.js';
import { sdks } from './packages.js';
import { client, serving } from './server.js';

const small = recordings.filter((name) => !name.startsWith('e-'));

// As the hook does it.  A failed run is an error in its state, and it logs it.
class Page {
    heard = { metadata: [], updates: [], custom: [], errors: [] };

    constructor(sdk, options = {}) {
        this.sdk = sdk;
        this.manager = new sdk.StreamManager(new sdk.MessageTupleManager(), {
            throttle: false,
            ...options,
        });
    }

    get values() {
        return this.manager.values ?? {};
    }

    async run(input, ...options) {
        const { heard, manager } = this;
        const log = console.error;
        console.error = () => {};
        try {
            await serving({ input, options }, async (server) => {
                await manager.start(
                    () => client(this.sdk, server).runs.stream('t1', 'agent', { input: {} }),
                    {
                        initialValues: {},
                        getMessages: (values) => values.messages ?? [],
                        setMessages: (values, messages) => ({ ...values, messages }),
                        callbacks: {
                            onMetadataEvent: (data) =>
                                heard.metadata.push({ namespace: undefined, data }),
                            onUpdateEvent: (data, { namespace }) =>
                                heard.updates.push({ namespace, data }),
                            onCustomEvent: (data, { namespace }) =>
                                heard.custom.push({ namespace, data }),
                        },
                        onSuccess: () => undefined,
                        onError: (error) => heard.errors.push(error),
                    },
                );
                await manager.queue;
            });
        } finally {
            console.error = log;
        }
        return this;
    }
}

const modeOf = ({ event }) => event.split('|')[0];
const heardOf = (said, mode) =>
    said
        .filter((frame) => modeOf(frame) === mode)
        .map(({ event, data }) => ({
            namespace: event.includes('|') ? event.split('|').slice(1) : undefined,
            data,
        }));

const questionsOf = (said) =>
    said
        .filter(({ event, data }) => event === 'values' && data.__interrupt__)
        .flatMap(({ data }) => data.__interrupt__);

const isState = ({ event, data }) =>
    event === 'values' && Object.keys(data).some((k) => k !== '__interrupt__');

async function waits(input) {
    const raw = await frames(input, '--to', 'raw');
    return /^job\.(interrupt|paused)$/.test(
        raw.findLast(({ event }) => event.startsWith('job.'))?.event,
    );
}

for (const sdk of sdks) {
    const who = `useStream ${sdk.version}`;

    describe(who, () => {
        for (const name of small) {
            test(`${who} shows the end of ${name}`, async () => {
                const input = recording(name);
                const said = await frames(input, '--to', 'messages');
                const page = await new Page(sdk).run(input);

                const failed = said
                    .filter(({ event }) => event === 'error')
                    .map(({ data }) => ({ name: data.error, message: data.message }));
                assert.deepEqual(
                    page.heard.errors.map(({ name, message }) => ({ name, message })),
                    failed,
                );
                for (const mode of ['metadata', 'updates', 'custom'])
                    assert.deepEqual(page.heard[mode], heardOf(said, mode));
                // It would take the state of a subgraph for the graph's.
                assert.ok(said.every(({ event }) => !event.includes('|')));

                // The state of the end; a question only where the job waits for an answer.  An
                // answer in the same stream is beyond the SDK: a resumed run is another run.
                const { __interrupt__: open, ...state } = page.values;
                const { __interrupt__: _, ...last } = said.findLast(isState)?.data ?? {};
                if (said.some(isState) && failed.length === 0) assert.deepEqual(state, last);
                if (await waits(input))
                    assert.deepEqual(open?.at(-1), questionsOf(said).at(-1));
            });
        }

        for (const name of [
            'b-react-nested.ndjson',
            'd-anthropic-list-content.ndjson',
            'a-supervisor-1-until-interrupt.ndjson',
            'py-b-react-nested-modes.server.ndjson',
        ]) {
            test(`${who} lists each message of ${name} once, in the order of appearance`, async () => {
                const input = recording(name);
                const options = ['--modes', 'messages'];
                const said = await frames(input, '--to', 'messages', ...options);
                const ids = said.slice(1).map(({ data: [message] }) => message.id);
                const page = await new Page(sdk).run(input, ...options);
                assert.deepEqual(
                    page.values.messages.map(({ id }) => id),
                    [...new Set(ids)],
                );
            });
        }

        for (const [first, second] of [
            ['a-supervisor-1-until-interrupt.ndjson', 'a-supervisor-2-resumed.ndjson'],
            [
                'a-supervisor-modes-1-until-interrupt.ndjson',
                'a-supervisor-modes-2-resumed.ndjson',
            ],
            [
                'captures/js-server-01-all-modes-until-interrupt.sse',
                'captures/js-server-02-all-modes-resume.sse',
            ],
        ]) {
            test(`${who} shows the question of ${first} until it is answered`, async () => {
                const asked = questionsOf(await frames(recording(first), '--to', 'messages'));
                const page = await new Page(sdk).run(recording(first));
                assert.equal(asked.length, 1);
                assert.deepEqual(page.values.__interrupt__, asked);
                assert.ok(page.values.messages.length > 0);
                await page.run(recording(second));
                assert.equal(page.values.__interrupt__, undefined);
                assert.deepEqual(page.heard.errors, []);
            });
        }

        test(`${who} sees the questions that several nodes ask at once`, async () => {
            const page = await new Page(sdk).run(
                recording('py-k-interrupts-2-two-parallel.server.ndjson'),
            );
            const values = page.values.__interrupt__.map(({ value }) => value);
            // The real server sends them one by one, and 1.6.0 keeps only the last one of these.
            assert.deepEqual(values, ['A?', 'B?']);
        });

        test(`${who} sees the questions that come in one chunk`, async () => {
            const asked = [
                { value: 'A?', id: 'a' },
                { value: 'B?', id: 'b' },
            ];
            const page = await new Page(sdk).run(questions(asked));
            assert.deepEqual(page.values.__interrupt__, asked);
        });

        test(`${who} keeps its state at a pause, which is no question`, async () => {
            const page = await new Page(sdk).run(questions([]));
            assert.equal(page.values.__interrupt__, undefined);
        });

        test(`${who} hears from which subgraph an update is`, async () => {
            const input = recording('py-b-react-nested-modes.server.ndjson');
            const said = await frames(input, '--to', 'messages', '--subgraphs');
            const page = await new Page(sdk).run(input, '--subgraphs');
            assert.deepEqual(page.heard.updates, heardOf(said, 'updates'));
            assert.ok(page.heard.updates.some(({ namespace }) => namespace?.length === 2));
        });

        test(`${who} can keep an agent that a tool runs out of the main list`, async () => {
            const input = recording('b-react-nested.ndjson');
            const page = new Page(sdk, { filterSubagentMessages: true });
            await page.run(input, '--modes', 'messages', '--subgraphs');
            const answers = page.values.messages
                .filter(({ type }) => type === 'ai')
                .map(({ id }) => id);
            assert.ok(answers.includes('cc-m-3'));
            assert.ok(!answers.includes('cc-sub-1') && !answers.includes('cc-sub-2'));
        });
    });
}
