// The program under test, `spoolwire translate`, and what it is fed with.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const program = process.env.SPOOLWIRE;
const folder = process.env.RECORDINGS;
const MAX_OUTPUT = 1 << 30;

export const dialects = ['agent', 'envelope', 'messages', 'nodes', 'aiq', 'raw'];

export const recordings = readdirSync(folder, { recursive: true })
    .filter((name) => /\.(ndjson|sse)(\.gz)?$/.test(name))
    .sort();

// Without the biggest, which takes the SDK long and tells nothing that e-big does not.
export const shorter = recordings.filter((name) => name !== 'e-big-20k.ndjson.gz');

export function recording(name) {
    const bytes = readFileSync(join(folder, name));
    return name.endsWith('.gz') ? gunzipSync(bytes) : bytes;
}

// The bytes that `translate` writes for `input`, under a clock that stands still.  Lines that
// it could not understand (exit status 1) are no failure: some recordings have them.
export function translate(input, ...options) {
    const args = ['translate', '--clock', 'fixed', '--job', 'job-1', ...options];
    return new Promise((resolve, reject) => {
        const child = execFile(
            program,
            args,
            { encoding: 'buffer', maxBuffer: MAX_OUTPUT },
            (error, stdout, stderr) => {
                if (error && error.code !== 1)
                    reject(
                        new Error(`spoolwire ${args.join(' ')}: ${error.message}\n${stderr}`),
                    );
                else resolve(stdout);
            },
        );
        child.stdin.on('error', () => {}); // its exit status says what went wrong
        child.stdin.end(input);
    });
}

// The same frames by way of JSON lines, as objects {id, event, data}: what every reader of
// the SSE framing must come to.
export async function frames(input, ...options) {
    const text = await translate(input, ...options, '--framing', 'ndjson', '--envelope');
    return text
        .toString()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line));
}
