// Connections break; the stock client asks again with the last id that it saw, and the filter
// goes on after it.  Nothing is lost and nothing comes twice.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { frames, recording, translate } from './filter.js';
import { sdks } from './packages.js';
import { client, serving, streamed } from './server.js';

// Where a connection breaks, from the end of a frame: inside its data, before its empty line,
// after it, inside the next one's id and inside its name.
const PLACES = [-30, -1, 0, 3, 14];
const everything = ['--modes', 'all', '--subgraphs'];

// The client waits 1 to 6 seconds before it asks again.  Here it need not.
const { setTimeout } = globalThis;
globalThis.setTimeout = (callback, ms, ...rest) =>
    setTimeout(callback, ms >= 1000 && ms <= 6000 ? 0 : ms, ...rest);

function frameEnds(bytes) {
    const ends = [];
    for (let at = bytes.indexOf('\n\n'); at !== -1; at = bytes.indexOf('\n\n', at + 2))
        ends.push(at + 2);
    return ends;
}

for (const sdk of sdks) {
    const who = `SDK ${sdk.version}`;

    describe(who, { concurrency: 2 }, () => {
        for (const name of [
            'c-tool-throws-handled.ndjson',
            'py-c-node-throws.server.ndjson',
            'py-k-interrupts-2-two-parallel.server.ndjson',
        ]) {
            test(`${who} resumes ${name} wherever the connection breaks`, async () => {
                const input = recording(name);
                const bytes = await translate(input, '--to', 'messages', ...everything);
                const expected = await frames(input, '--to', 'messages', ...everything);
                const around = frameEnds(bytes).flatMap((end) => PLACES.map((at) => end + at));
                const cuts = [0, ...around.filter((at) => at <= bytes.length)];
                for (const cut of new Set(cuts)) {
                    const broken = { input, options: everything, cuts: [cut] };
                    await serving(broken, async (server) => {
                        assert.deepEqual(
                            await streamed(sdk, server),
                            expected,
                            `cut at ${cut}`,
                        );
                        assert.deepEqual(server.methods, ['POST', 'GET']);
                    });
                }
            });
        }

        test(`${who} resumes again and again`, async () => {
            const input = recording('b-react-nested.ndjson');
            const expected = await frames(input, '--to', 'messages');
            const cuts = [20000, 1, 15000, 3000, 40000]; // five are its limit
            await serving({ input, cuts }, async (server) => {
                assert.deepEqual(await streamed(sdk, server), expected);
                assert.equal(server.methods.length, cuts.length + 1);
            });
        });

        test(`${who} joins a run after any frame`, async () => {
            const input = recording('a-supervisor-1-until-interrupt.ndjson');
            const expected = await frames(input, '--to', 'messages');
            await serving({ input }, async (server) => {
                for (const [n, { id }] of expected.entries()) {
                    const rest = client(sdk, server).runs.joinStream('t1', 'job-1', {
                        lastEventId: id,
                    });
                    assert.deepEqual(
                        await Array.fromAsync(rest),
                        expected.slice(n + 1),
                        `after ${id}`,
                    );
                }
            });
        });
    });
}
