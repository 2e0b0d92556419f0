// A parser with a browser's rules reads what every dialect says of every recording.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { dialects, recording, recordings, translate } from './filter.js';
import { createParser } from './packages.js';

const variants = [
    ...dialects.map((dialect) => ['--to', dialect]),
    ['--to', 'messages', '--modes', 'all', '--subgraphs'],
    ['--to', 'aiq', '--aiq-compat'],
    ['--to', 'raw', '--stored'],
];

// The events that a browser would dispatch, as the lines that `--envelope` makes of them:
// payloads are compared byte for byte.
function parsed(bytes, piece) {
    const lines = [];
    const decoder = new TextDecoder('utf-8', { fatal: true });
    const parser = createParser({
        onEvent({ id, event, data }) {
            const start = id === undefined ? '{' : `{"id":${JSON.stringify(id)},`;
            lines.push(`${start}"event":${JSON.stringify(event)},"data":${data}}`);
        },
        onRetry: () => assert.fail('a retry line'),
        onComment: () => assert.fail('a comment'),
        onError: (error) => assert.fail(error),
    });

    for (let at = 0; at < bytes.length; at += piece)
        parser.feed(decoder.decode(bytes.subarray(at, at + piece), { stream: true }));
    return lines;
}

async function expected(input, options) {
    const text = await translate(input, ...options, '--framing', 'ndjson', '--envelope');
    return text.toString().split('\n').slice(0, -1);
}

describe('eventsource-parser', { concurrency: 4 }, () => {
    for (const name of recordings) {
        test(`eventsource-parser reads ${name} in every dialect`, async () => {
            const input = recording(name);
            for (const options of variants) {
                const lines = await expected(input, options);
                lines.forEach((line) => JSON.parse(line));
                assert.deepEqual(
                    parsed(await translate(input, ...options), 4099),
                    lines,
                    options.join(' '),
                );
            }
        });
    }

    test('eventsource-parser reads a stream in pieces of any size', async () => {
        const input = recording('f-unicode-and-long.ndjson');
        const options = ['--to', 'messages'];
        const lines = await expected(input, options);
        const bytes = await translate(input, ...options);
        assert.ok(lines.length > 30);
        for (const piece of [1, 2, 3, 5, 61, 1024])
            assert.deepEqual(parsed(bytes, piece), lines, `pieces of ${piece}`);
    });
});
