/**
 * A process of a pool: orders come in lines on standard input, and what happens goes out in lines
 * on standard output.  Many jobs run side by side; the end of the input lets them finish.
 *
 * Standard output belongs to the lines alone: what the graph prints goes to standard error.
 */
import { createInterface } from 'node:readline';

import { answerCall } from './calls.js';
import { encode } from './plain.js';
import { Run } from './run.js';

const BEAT_MS = 5000;
const WRITE_CHARS = 32 * 1024;

/** Lines that leave together in one write: those of a turn, but no more than some pages.  A model
 * that never waits fills a turn with all that it says. */
class Lines {
    /** @type {string[]} */
    #waiting = [];
    #chars = 0;
    #write = process.stdout.write.bind(process.stdout);

    constructor() {
        process.stdout.write = process.stderr.write.bind(process.stderr);
    }

    /** @param {string} line @returns {void | Promise<void>} a promise while nobody reads them */
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

class Pool {
    lines = new Lines();
    /** @type {Map<string, { run: Run, quiet: boolean, head: string }>} */
    jobs = new Map();
    /** @type {Set<Promise<void>>} */
    going = new Set();

    /** @param {import('./graph.js').Graph} graph @param {import('./wire.js').Wire} wire */
    constructor(graph, wire) {
        this.graph = graph;
        this.wire = wire;
    }

    /** @param {any} order */
    take(order) {
        const key = `${order.job} ${order.attempt}`;
        const job = this.jobs.get(key);

        if (order.cancel) job?.run.cancel();
        else if (order.pause) job?.run.pause();
        else this.#begin(order.call ? this.#answer(order) : this.#work(key, order));
    }

    /** @param {Promise<void>} work */
    #begin(work) {
        this.going.add(work);
        void work.finally(() => this.going.delete(work));
    }

    /** @param {string} key @param {any} order */
    async #work(key, order) {
        // The beginning of every line about this job; the rest is JSON already.
        const head = `{"job":${JSON.stringify(order.job)},"attempt":${order.attempt},`;
        const job = { head, quiet: false, run: /** @type {any} */ (undefined) };

        job.run = new Run(this.graph, order, this.wire, (event) => {
            job.quiet = false;
            return this.lines.put(`${head}"event":${event}}`);
        });
        this.jobs.set(key, job);
        const finish = await job.run.run();
        this.jobs.delete(key);
        await this.lines.put(`${head}"finish":${encode(finish)}}`);
    }

    /** @param {any} order */
    async #answer({ call, agent }) {
        const answer = await answerCall(this.graph, this.wire, call, agent);

        await this.lines.put(encode({ call: call.id, ...answer }));
    }

    beat() {
        for (const job of this.jobs.values()) {
            if (job.quiet) void this.lines.put(`${job.head}"heartbeat":true}`);
            job.quiet = true;
        }
    }
}

/** @param {import('./graph.js').Graph} graph @param {import('./wire.js').Wire} wire */
export async function servePool(graph, wire) {
    const pool = new Pool(graph, wire);
    const beat = setInterval(() => pool.beat(), BEAT_MS);

    void pool.lines.put('{"ready":true,"calls":true}');
    for await (const line of createInterface({ input: process.stdin }))
        if (line.trim() !== '') pool.take(JSON.parse(line));
    await Promise.allSettled(pool.going);
    clearInterval(beat);
    pool.lines.flush();
    wire.close();
}
