/**
 * A pull worker: leases jobs over HTTP, from any machine.
 *
 *     import { Worker } from 'spoolwire/worker';
 *
 *     const worker = await Worker.load({ agent: './agent.mjs:graph' }, { url, token });
 *     await worker.run(); // until worker.stop()
 *     const done = await worker.runOnce(); // one job; false: there was none
 *
 * A heartbeat waits at the server beside the events, so that a silent job hears at once that it shall
 * stop: the `signal` in the config of its nodes is aborted.
 */
import { randomUUID } from 'node:crypto';
import os from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';

import { answerCall } from './calls.js';
import { Graph } from './graph.js';
import { Outbox } from './outbox.js';
import { encode } from './plain.js';
import { Run } from './run.js';
import { Refused, Wire } from './wire.js';

const WAIT_SECONDS = 20;
const BEAT_WAIT_SECONDS = 50; // that a heartbeat may wait at the server
const SHORT_MS = 500; // a job that is over by then costs no heartbeat
const GIVE_BACK_MS = 2000;
const ON_STOP = ['finish', 'return', 'lose'];

/** @param {any} assignment */
const jobPath = ({ job, lease, executor }, /** @type {string} */ what) =>
    `/v1/worker/jobs/${encodeURIComponent(job)}/${what}?lease=${encodeURIComponent(lease)}&executor=${executor}`;

/**
 * @typedef {object} WorkerOptions
 * @property {string} [url]
 * @property {string} [token]
 * @property {number} [concurrency]
 * @property {string} [name]
 * @property {'finish' | 'return' | 'lose'} [onStop] what becomes of jobs when it is stopped: they may finish
 *     (within `grace`, then they are requeued), are requeued at once without using up an attempt, or with
 * @property {number} [grace] seconds (10)
 */

export class Worker {
    #stop = new AbortController();
    /** @type {Set<Promise<void>>} */
    #going = new Set();
    /** @type {Set<Run>} */
    #runs = new Set();

    /**
     * @param {Record<string, Graph>} graphs by the names of their agents
     * @param {WorkerOptions} [options]
     */
    constructor(graphs, { url, token, concurrency = 10, name, onStop = 'finish', grace = 10 } = {}) {
        if (!ON_STOP.includes(onStop)) throw new Error(`onStop must be one of ${ON_STOP.join(', ')}, not ${onStop}`);
        this.onStop = onStop;
        this.grace = grace;
        this.executor = randomUUID(); // no other process can use our leases
        this.graphs = graphs;
        this.wire = new Wire({ url, token });
        this.concurrency = concurrency;
        this.name = name ?? `${os.hostname()}-${process.pid}`;
    }

    /** @param {Record<string, string>} specs `FILE:EXPORT` by agent
     * @param {WorkerOptions} [options] */
    static async load(specs, options) {
        /** @type {Record<string, Graph>} */
        const graphs = {};

        for (const [agent, spec] of Object.entries(specs)) graphs[agent] = await Graph.load(spec);
        return new Worker(graphs, options);
    }

    /** Takes no more jobs; what becomes of those that it has is `onStop`. */
    stop() {
        this.#stop.abort();
        if (this.onStop !== 'finish') this.#handBack(this.onStop);
        else setTimeout(() => this.#handBack('return'), this.grace * 1000).unref();
    }

    /** @param {'return' | 'lose'} how */
    #handBack(how) {
        for (const run of this.#runs) run.handBack(how);
    }

    /** Takes one job and works on it until its end, whatever that is.
     * @param {{ wait?: number }} [options] seconds to wait for a job
     * @returns {Promise<boolean>} false: none came */
    async runOnce({ wait = 0 } = {}) {
        const end = Date.now() + wait * 1000;
        const { signal } = this.#stop;
        let assignment;

        do {
            const left = Math.max(0, Math.ceil((end - Date.now()) / 1000));
            assignment = await this.#lease(signal, Math.min(left, WAIT_SECONDS), false);
        } while (!assignment && !signal.aborted && Date.now() < end);
        if (assignment) await this.#work(assignment);
        this.wire.close();
        return assignment !== undefined;
    }

    async run() {
        const { signal } = this.#stop;

        while (!signal.aborted) {
            if (this.#going.size >= this.concurrency) {
                await Promise.race(this.#going);
                continue;
            }
            const assignment = await this.#lease(signal);
            if (!assignment) continue;
            const going = assignment.call ? this.#answer(assignment) : this.#work(assignment);
            this.#going.add(going);
            void going.finally(() => this.#going.delete(going));
        }
        await Promise.allSettled(this.#going);
        this.wire.close();
    }

    /** @param {AbortSignal} signal @param {number} [wait] @param {boolean} [calls] */
    async #lease(signal, wait = WAIT_SECONDS, calls = true) {
        const ask = {
            agents: Object.keys(this.graphs),
            worker: this.name,
            wait,
            calls,
            executor: this.executor,
            request_id: randomUUID(), // a repeated request gets the same job
        };

        try {
            const assignment = await this.wire.post('/v1/worker/lease', ask, { signal });
            return assignment && { ...assignment, executor: this.executor };
        } catch (error) {
            if (!signal.aborted) throw error;
            await this.#giveBack({ ...ask, wait: 0, calls: false });
            return undefined;
        }
    }

    /** The server may have leased a job to us while we stopped: it is requeued.  If that fails, its lease runs out.
     * @param {any} ask */
    async #giveBack(ask) {
        const signal = AbortSignal.timeout(GIVE_BACK_MS);

        try {
            const assignment = await this.wire.post('/v1/worker/lease', ask, { signal });
            if (assignment) await this.wire.post(jobPath({ ...assignment, executor: this.executor }, 'return'), {}, { signal });
        } catch (error) {
            if (!(error instanceof Refused) && !signal.aborted) throw error;
        }
    }

    /** @param {any} assignment */
    async #answer({ call, agent }) {
        const answer = await answerCall(this.graphs[agent], this.wire, call, agent);
        const path = `/v1/worker/calls/${encodeURIComponent(call.id)}`;

        // The caller may have left meanwhile.
        await this.wire.request('POST', path, encode(answer)).catch(() => {});
    }

    /** @param {any} assignment */
    async #work(assignment) {
        const hear = (/** @type {any} */ answer) => {
            if (answer?.cancel) run.cancel();
            else if (answer?.pause) run.pause();
        };
        const outbox = new Outbox(async (batch, seq) => {
            const path = `${jobPath(assignment, 'events')}&seq=${seq}`;
            hear(await this.wire.request('POST', path, batch).catch(lost));
        }, assignment.seq ?? 0);
        const lost = (/** @type {unknown} */ error) => {
            run.drop();
            throw error;
        };
        const run = new Run(this.graphs[assignment.agent], assignment, this.wire, (line) => outbox.put(line));
        const ended = new AbortController();
        const beating = this.#beat(assignment, hear, lost, ended.signal);
        this.#runs.add(run);
        const finish = await run.run();

        this.#runs.delete(run);
        ended.abort();
        await beating;
        try {
            await outbox.flush();
            if (finish.status === 'return' || finish.status === 'lose')
                await this.wire.request('POST', jobPath(assignment, finish.status));
            else await this.wire.request('POST', jobPath(assignment, 'finish'), encode(finish));
        } catch (error) {
            // Refused: another worker has the job, or it has ended.
            if (!(error instanceof Refused)) throw error;
        }
    }

    /** @param {any} assignment @param {(answer: any) => void} hear @param {(error: unknown) => void} lost
     * @param {AbortSignal} signal */
    async #beat(assignment, hear, lost, signal) {
        const every = (assignment.heartbeat_seconds ?? 15) * 1000;
        const wait = Math.min(Math.floor(every / 1000), BEAT_WAIT_SECONDS);
        const path = `${jobPath(assignment, 'heartbeat')}${wait > 0 ? `&wait=${wait}` : ''}`;

        try {
            await pause(Math.min(SHORT_MS, every), undefined, { signal });
            for (;;) {
                const begin = Date.now();
                hear(await this.wire.request('POST', path, undefined, { signal }));
                // The next follows when its time is over, however early this one was answered.
                await pause(Math.max(0, begin + every - Date.now()), undefined, { signal });
            }
        } catch (error) {
            if (signal.aborted) return;
            try {
                lost(error);
            } catch {
                // The run is over; its outbox says why.
            }
        }
    }
}
