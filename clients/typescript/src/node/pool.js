/**
 * A process of a pool: reads assignments as lines from standard input, and writes events as lines
 * to standard output.  Many jobs run side by side; when the input ends, they finish.
 *
 * Standard output is reserved for the protocol: what the graph prints goes to standard error.
 */
import { createInterface } from 'node:readline';

import { answerCall } from './calls.js';
import { encode } from './plain.js';
import { Run } from './run.js';

const BEAT_SECONDS = 15; // unless an assignment says how often
const WRITE_CHARS = 32 * 1024;

/** Lines that are written together: those of one turn of the event loop, up to a limit.  A model
 * that never waits would put all of its output into one turn. */
class Lines {
    /** @type {string[]} */
    #waiting = [];
    #chars = 0;
    #write = process.stdout.write.bind(process.stdout);

    constructor() {
        process.stdout.write = process.stderr.write.bind(process.stderr);
    }

    /** @param {string} line @returns {void | Promise<void>} a promise while the reader is slow */
    put(line) {
        if (this.#waiting.length === 0) setImmediate(() => this.flush());
        this.#waiting.push(line);
        this.#chars += line.length;
        if (this.#chars > WRITE_CHARS) this.flush();
        if (process.stdout.writableNeedDrain)
            return new Promise((resolve) => process.stdout.once('drain', resolve));
        return undefined;
    }

    flush() {
        if (this.#waiting.length > 0) this.#write(this.#waiting.join('\n') + '\n');
        this.#waiting = [];
        this.#chars = 0;
    }
}

/** A graph that could not be loaded: every job, and every call, gets the reason. */
export class BrokenGraph {
    /** @param {string} spec @param {unknown} error */
    constructor(spec, error) {
        const { name, message } = error instanceof Error ? error : new Error(String(error));

        this.error = `${spec} could not be loaded: ${name === 'Error' ? '' : `${name}: `}${message}`;
    }
}

class Pool {
    lines = new Lines();
    /** @type {Map<string, Run>} */
    jobs = new Map();
    /** @type {Set<Promise<void>>} */
    going = new Set();

    /** @param {import('./graph.js').Graph | BrokenGraph} graph @param {import('./wire.js').Wire} wire */
    constructor(graph, wire) {
        this.graph = graph;
        this.wire = wire;
    }

    /** @param {any} assignment */
    take(assignment) {
        const key = `${assignment.job} ${assignment.attempt}`;
        const run = this.jobs.get(key);

        if (assignment.cancel) run?.cancel();
        else if (assignment.pause) run?.pause();
        else this.#begin(assignment.call ? this.#answer(assignment) : this.#work(key, assignment));
    }

    /** @param {Promise<void>} work */
    #begin(work) {
        this.going.add(work);
        void work.finally(() => this.going.delete(work));
    }

    /** @param {string} key @param {any} assignment */
    async #work(key, assignment) {
        // The beginning of every line about this job; the rest is JSON already.
        const head = `{"job":${JSON.stringify(assignment.job)},"attempt":${assignment.attempt},`;
        let isQuiet = false;
        if (this.graph instanceof BrokenGraph) {
            const finish = { status: 'failure', error: this.graph.error, error_type: 'GraphLoadError' };
            await this.lines.put(`${head}"finish":${encode(finish)}}`);
            return;
        }
        const run = new Run(this.graph, assignment, this.wire, (event) => {
            isQuiet = false;
            return this.lines.put(`${head}"event":${event}}`);
        });
        const beating = setInterval(
            () => {
                if (isQuiet) void this.lines.put(`${head}"heartbeat":true}`);
                isQuiet = true;
            },
            (assignment.heartbeat_seconds ?? BEAT_SECONDS) * 1000,
        );

        this.jobs.set(key, run);
        const finish = await run.run();
        clearInterval(beating);
        this.jobs.delete(key);
        await this.lines.put(`${head}"finish":${encode(finish)}}`);
    }

    /** @param {any} assignment */
    async #answer({ call, agent }) {
        const answer =
            this.graph instanceof BrokenGraph
                ? { error: this.graph.error }
                : await answerCall(this.graph, this.wire, call, agent);

        await this.lines.put(encode({ call: call.id, ...answer }));
    }
}

/** @param {import('./graph.js').Graph | BrokenGraph} graph @param {import('./wire.js').Wire} wire */
export async function servePool(graph, wire) {
    const pool = new Pool(graph, wire);

    void pool.lines.put('{"ready":true,"calls":true}');
    for await (const line of createInterface({ input: process.stdin }))
        if (line.trim() !== '') pool.take(JSON.parse(line));
    await Promise.allSettled(pool.going);
    pool.lines.flush();
    wire.close();
}
