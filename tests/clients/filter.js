// The program under test: `spoolwire translate`, and what it is fed with.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const program = process.env.SPOOLWIRE;
const folder = process.env.RECORDINGS;
const MAX_OUTPUT = 1 << 30;

export const dialects = ['agent', 'envelope', 'messages', 'nodes', 'aiq', 'raw'];

// All of them; expected-attribution.json and the README are not recordings.
export const recordings = readdirSync(folder)
    .filter((name) => /\.(ndjson|sse)(\.gz)?$/.test(name))
    .sort();

const contents = new Map();

export function recording(name) {
    if (!contents.has(name)) {
        const bytes = readFileSync(join(folder, name));
        contents.set(name, name.endsWith('.gz') ? gunzipSync(bytes) : bytes);
    }
    return contents.get(name);
}

// The bytes that `translate` writes for `input`, under a clock that stands still.  Lines that it
// could not understand (exit status 1) are no failure: some recordings have them.
export function translate(input, ...options) {
    const args = ['translate', '--clock', 'fixed', '--job', 'job-1', ...options];
    return new Promise((resolve, reject) => {
        const done = (error, stdout, stderr) => {
            if (error && error.code !== 1)
                reject(new Error(`${basename(program)} ${args.join(' ')}: ${error.message}\n${stderr}`));
            else
                resolve(stdout);
        };
        const child = execFile(program, args, { encoding: 'buffer', maxBuffer: MAX_OUTPUT }, done);
        child.stdin.on('error', () => {}); // its exit status says what went wrong
        child.stdin.end(input);
    });
}

// The same frames as objects {id, event, data}, by way of JSON lines: what readers of the
// SSE framing must come to.
export async function frames(input, ...options) {
    const text = (await translate(input, ...options, '--framing', 'ndjson', '--envelope')).toString();
    return text.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line));
}

// Events of our own, one a line.
export const lines = (...events) => Buffer.from(events.map((e) => JSON.stringify(e) + '\n').join(''));
