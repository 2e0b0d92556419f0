// The stock SDK's decoder, alone and inside its client, reads the dialect `messages`.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { frames, recording, shorter, translate } from './filter.js';
import { sdks } from './packages.js';
import { serving, streamed } from './server.js';

const everything = ['--modes', 'all', '--subgraphs'];
const BIG = 'e-big.ndjson.gz';

async function decoded(sdk, bytes, piece) {
    const pieces = [];
    for (let at = 0; at < bytes.length; at += piece)
        pieces.push(new Uint8Array(bytes.subarray(at, at + piece)));
    const stream = ReadableStream.from(pieces)
        .pipeThrough(sdk.BytesLineDecoder())
        .pipeThrough(sdk.SSEDecoder());
    return Array.fromAsync(stream);
}

for (const sdk of sdks) {
    const who = `SDK ${sdk.version}`;

    describe(who, { concurrency: 4 }, () => {
        for (const name of shorter) {
            test(`${who} streams ${name}`, async () => {
                const input = recording(name);
                for (const options of name === BIG ? [[]] : [[], everything]) {
                    const expected = await frames(input, '--to', 'messages', ...options);
                    await serving({ input, options }, async (server) => {
                        assert.deepEqual(
                            await streamed(sdk, server),
                            expected,
                            options.join(' '),
                        );
                        assert.deepEqual(server.methods, ['POST']);
                    });
                }
            });
        }

        test(`${who} decodes pieces of any size`, async () => {
            const input = recording('f-unicode-and-long.ndjson');
            const bytes = await translate(input, '--to', 'messages');
            const expected = await frames(input, '--to', 'messages');
            assert.ok(expected.length > 30);
            for (const piece of [1, 2, 61, 4099, bytes.length])
                assert.deepEqual(
                    await decoded(sdk, bytes, piece),
                    expected,
                    `pieces of ${piece}`,
                );
        });

        test(`${who} is told the run's id, in the header and in the first event`, async () => {
            const created = [];
            const onRunCreated = (run) => created.push(run);
            const [first] = await serving(
                { input: recording('d-retriever.ndjson') },
                (server) => streamed(sdk, server, { onRunCreated }),
            );
            assert.deepEqual(created, [{ run_id: 'job-1', thread_id: 't1' }]);
            assert.deepEqual(first, {
                id: '1',
                event: 'metadata',
                data: { run_id: 'job-1', attempt: 1 },
            });
        });
    });
}
