/**
 * A pull worker: leases jobs over HTTP, from any machine.
 *
 *     import { Worker } from 'spoolwire/worker';
 *
 *     const worker = await Worker.load({ agent: './agent.mjs:graph' }, { url, token });
 *     await worker.run(); // until worker.stop()
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

/** @param {any} assignment */
const jobPath = ({ job, lease }, /** @type {string} */ what) =>
    `/v1/worker/jobs/${encodeURIComponent(job)}/${what}?lease=${encodeURIComponent(lease)}`;

export class Worker {
    #stop = new AbortController();
    /** @type {Set<Promise<void>>} */
    #going = new Set();

    /**
     * @param {Record<string, Graph>} graphs by the names of their agents
     * @param {{ url?: string, token?: string, concurrency?: number, name?: string }} [options]
     */
    constructor(graphs, { url, token, concurrency = 10, name } = {}) {
        this.graphs = graphs;
        this.wire = new Wire({ url, token });
        this.concurrency = concurrency;
        this.name = name ?? `${os.hostname()}-${process.pid}`;
    }

    /** @param {Record<string, string>} specs `FILE:EXPORT` by agent
     * @param {{ url?: string, token?: string, concurrency?: number, name?: string }} [options] */
    static async load(specs, options) {
        /** @type {Record<string, Graph>} */
        const graphs = {};

        for (const [agent, spec] of Object.entries(specs)) graphs[agent] = await Graph.load(spec);
        return new Worker(graphs, options);
    }

    /** Takes no more jobs; `run()` returns when those that it has are done. */
    stop() {
        this.#stop.abort();
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

    /** @param {AbortSignal} signal */
    async #lease(signal) {
        const ask = {
            agents: Object.keys(this.graphs),
            worker: this.name,
            wait: WAIT_SECONDS,
            calls: true,
            request_id: randomUUID(), // a repeated request gets the same job
        };

        try {
            return await this.wire.post('/v1/worker/lease', ask, { signal });
        } catch (error) {
            if (signal.aborted) return undefined;
            throw error;
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
        const finish = await run.run();

        ended.abort();
        await beating;
        try {
            await outbox.flush();
            await this.wire.request('POST', jobPath(assignment, 'finish'), encode(finish));
        } catch (error) {
            // Refused: another worker has the job, or it has ended.
            if (!(error instanceof Refused)) throw error;
        }
    }

    /** @param {any} assignment @param {(answer: any) => void} hear @param {(error: unknown) => void} lost
     * @param {AbortSignal} signal */
    async #beat(assignment, hear, lost, signal) {
        const every = (assignment.heartbeat_seconds ?? 15) * 1000;

        try {
            for (;;) {
                await pause(every, undefined, { signal });
                hear(await this.wire.request('POST', jobPath(assignment, 'heartbeat'), undefined, { signal }));
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
