// Starts a server for a test, and waits with a deadline.
import { execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const { SPOOLWIRE, PACKAGES, PYTHON } = process.env;
export const WAIT_MS = 120_000; // a deadline, never a pause: a worker may have to load LangGraph

// Polls `condition` until it is true, and returns its value.
export async function until(what, condition, ms = WAIT_MS) {
    const end = Date.now() + ms;

    for (;;) {
        const value = await condition();
        if (value) return value;
        if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
        await pause(10);
    }
}

// For servers that restart on the same port: below the range from which the system assigns ports.
export async function freePort() {
    const port = randomInt(10_000, 30_000);
    const server = createServer().listen(port, '127.0.0.1');
    try {
        await once(server, 'listening');
    } catch {
        return freePort();
    }
    server.close();
    await once(server, 'close');
    return port;
}

// A folder with the suite's packages, and files of the test.
export function project(files = {}, packages = PACKAGES) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'spoolwire-js-'));

    fs.symlinkSync(path.join(packages, 'node_modules'), path.join(folder, 'node_modules'));
    for (const [name, from] of Object.entries(files)) fs.copyFileSync(from, path.join(folder, name));
    return folder;
}

function environment(more = {}) {
    const own = Object.entries(process.env).filter(
        ([name]) => !/^SPOOLWIRE|^(PORT|PYTHON|PACKAGES|NODE_TEST_CONTEXT)$/.test(name),
    );
    return {
        ...Object.fromEntries(own),
        PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`,
        ...(PYTHON && { VIRTUAL_ENV: path.dirname(path.dirname(PYTHON)) }),
        ...more,
    };
}

const CRASHES = new Set(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGFPE']);

// A file of which no test is chosen ends without its `after`: what it has started would stay.
const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGTERM')));

// A process whose output is kept in `text`; `ended` is its exit.
export function start(program, args, { cwd, env } = {}) {
    const child = spawn(program, args, { cwd, env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] });

    running.add(child);
    child.once('exit', () => running.delete(child));
    child.text = '';
    for (const stream of [child.stdout, child.stderr])
        stream.on('data', (data) => {
            child.text += data;
        });
    child.ended = once(child, 'exit');
    child.on('exit', (_, signal) => {
        if (CRASHES.has(signal)) console.log(`${program} died of ${signal}: ${child.text.slice(-2000)}`);
    });
    return child;
}

export async function kill(child, signal = 'SIGKILL') {
    if (child === undefined) return;
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await child.ended;
}

// With TEST_STORE=postgres the URL of a database that belongs to this file or folder: the same each time.
function place(file) {
    const script = path.join(import.meta.dirname, 'postgres.py');
    return execFileSync('python3', ['-B', script, 'place', file], { encoding: 'utf8' }).trim();
}

export class Server {
    // `words` begin with the command: ['serve', '--config', …] or ['dev'].
    constructor(words, { cwd } = {}) {
        const at = words.indexOf('--data') + 1;

        this.words = words;
        this.cwd = cwd;
        this.data = at > 0 ? words[at] : undefined;
        if (process.env.TEST_STORE === 'postgres') {
            this.data = place(path.resolve(cwd ?? '.', this.data ?? '.spoolwire'));
            this.words = at > 0 ? words.with(at, this.data) : [...words, '--data', this.data];
        }
    }

    async start() {
        this.port ??= await freePort();
        this.url = `http://127.0.0.1:${this.port}`;
        this.child = start(SPOOLWIRE, [...this.words, '--listen', `127.0.0.1:${this.port}`], { cwd: this.cwd });
        await until('the server listens', () => {
            if (this.child.exitCode !== null) throw new Error(`the server ended: ${this.child.text}`);
            return this.child.text.includes(this.url);
        });
        return this;
    }

    kill() {
        return kill(this.child);
    }

    async stop() {
        await kill(this.child, 'SIGTERM');
        if (/Sanitizer|runtime error:/.test(this.child.text)) throw new Error(this.child.text);
    }

    async restart() {
        await this.kill();
        return this.start();
    }

    async get(path) {
        const response = await fetch(this.url + path);
        if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
        return response.json();
    }
}
