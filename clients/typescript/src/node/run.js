/**
 * One run of a graph: takes an assignment, emits the parts of the stream, and returns how the run
 * ended.
 *
 *     assignment ─▶ input or Command ─▶ graph.stream(modes, subgraphs) ─▶ [namespace, mode, payload]
 *                                       │ checkpointer: SpoolwireSaver
 *                                       ├─ every checkpoint's state ─▶ putState
 *                                       └─ the graph's own transformers ─▶ [namespace, custom:NAME, item]
 *
 * A run that has begun before, in a worker that was lost, continues from its last checkpoint.
 *
 * A chain (a runnable that is no graph) has neither modes nor checkpoints: its events are emitted, and
 * its output as `values`.
 */
import { withDefaults } from './defaults.js';
import { isGraph } from './graph.js';
import { Outcomes } from './outcomes.js';
import { encode } from './plain.js';
import { shown, stateOf, statesOf } from './state.js';
import { Transformers } from './transformers.js';

const MODES = ['values', 'updates', 'messages', 'custom', 'tasks', 'checkpoints', 'tools'];

/** A pause comes in mode `updates`, and then in mode `values`, which says it for both.
 * @param {string} mode @param {any} payload */
const isSaidAgain = (mode, payload) => mode === 'updates' && payload?.__interrupt__?.length === 0;

/**
 * @typedef {object} Assignment what a worker gets: docs/worker-protocol.md
 * @property {string} job
 * @property {number} attempt
 * @property {string} [lease]
 * @property {string} [executor] the process that the lease is bound to
 * @property {string} agent
 * @property {any} input
 * @property {Record<string, unknown>} [resume]
 * @property {string} [thread]
 * @property {any} [run]
 *
 * @typedef {object} Finish
 * @property {'success' | 'failure' | 'interrupted' | 'cancelled' | 'return' | 'lose'} status
 * @property {unknown} [output]
 * @property {string} [error]
 * @property {string} [error_type]
 */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** @param {any} langgraph @param {any} goto a node, `{node, input}`, or a list of these */
function gotoOf({ Send }, goto) {
    const one = (/** @type {any} */ g) => (typeof g === 'string' ? g : new Send(g.node, g.input));

    return Array.isArray(goto) ? goto.map(one) : one(goto);
}

/** @param {any} langgraph @param {any} command as clients send it */
export function commandOf(langgraph, command) {
    const { resume, update, goto } = command;

    return new langgraph.Command({
        ...(resume === undefined || resume === null ? {} : { resume }),
        ...(update === undefined || update === null ? {} : { update }),
        ...(goto === undefined || goto === null ? {} : { goto: gotoOf(langgraph, goto) }),
    });
}

/** @param {Assignment} assignment */
export const threadOf = (assignment) => assignment.thread ?? assignment.job;

/** @param {Assignment} assignment @returns {Record<string, any>} the config of the graph */
function configOf(assignment) {
    const { config = {}, context, metadata, checkpoint, ...run } = withDefaults(assignment.run ?? {}, assignment.agent);
    const { recursion_limit, configurable, ...rest } = config ?? {};
    const checkpoint_id = checkpoint?.checkpoint_id ?? run.checkpoint_id;

    return {
        ...rest,
        ...(recursion_limit ? { recursionLimit: recursion_limit } : {}),
        configurable: {
            run_id: assignment.job,
            graph_id: assignment.agent,
            ...configurable,
            thread_id: threadOf(assignment),
            ...(checkpoint_id ? { checkpoint_id } : {}),
            ...(checkpoint?.checkpoint_ns ? { checkpoint_ns: checkpoint.checkpoint_ns } : {}),
            ...(checkpoint?.checkpoint_map ? { checkpoint_map: checkpoint.checkpoint_map } : {}),
        },
        metadata: { ...rest.metadata, ...metadata, run_id: assignment.job, run_attempt: assignment.attempt },
        ...(context ? { context } : {}),
        ...(run.interrupt_before ? { interruptBefore: run.interrupt_before } : {}),
        ...(run.interrupt_after ? { interruptAfter: run.interrupt_after } : {}),
        ...(run.durability ? { durability: run.durability } : {}),
        ...(UUID.test(assignment.job) ? { runId: assignment.job } : {}),
    };
}

/** A part as it is sent.
 * @param {string[]} namespace @param {string} mode @param {any} payload */
const partOf = (namespace, mode, payload) => [namespace, mode, shown(mode, payload)];

/** An event without the input that the start of its run has said.
 * @param {any} event */
function saidOnce(event) {
    if (/_start$/.test(event.event) || event.data?.input === undefined) return event;
    const { input, ...data } = event.data;
    return { ...event, data };
}

/** All tokens of a model's run have the same metadata object: its JSON is made once.
 * @type {WeakMap<object, string>} */
const written = new WeakMap();

/** @param {string[]} namespace @param {any} message @param {object} metadata */
function encodeToken(namespace, message, metadata) {
    let text = written.get(metadata);

    if (text === undefined) {
        text = encode(metadata);
        written.set(metadata, text);
    }
    return `[${encode(namespace)},"messages",[${encode(message)},${text}]]`;
}

/** @param {string[]} namespace @param {string} mode @param {any} payload */
function encodePart(namespace, mode, payload) {
    return mode === 'messages'
        ? encodeToken(namespace, payload[0], payload[1])
        : encode(partOf(namespace, mode, payload));
}

export class Run {
    #stop = new AbortController(); // stops the graph
    #lost = new AbortController(); // stops the saver's requests, too
    #isPausing = false;
    #isCancelled = false;
    /** @type {'return' | 'lose' | undefined} */
    #handedBack;

    /**
     * @param {import('./graph.js').Graph} graph
     * @param {Assignment} assignment
     * @param {import('./wire.js').Wire} wire
     * @param {(event: string) => void | Promise<void>} emit takes JSON; a promise is waited for
     */
    constructor(graph, assignment, wire, emit) {
        this.graph = graph;
        this.assignment = assignment;
        this.emit = emit;
        this.config = configOf(assignment);
        // Older versions of LangGraph have no RunControl to stop between two steps: abort there.
        const { RunControl } = graph.langgraph;
        if (RunControl) this.config.control = new RunControl();
        this.signal = this.#stop.signal;
        const { job, lease, executor } = assignment;
        const fence = lease === undefined ? {} : { job, lease, ...(executor ? { executor } : {}) };
        this.saver = new graph.Saver(wire, fence, this.#lost.signal);
        this.store = new graph.Store(wire, fence);
        this.outcomes = new Outcomes();
        this.saver.onWrites = this.outcomes.wrote.bind(this.outcomes);
        /** @type {Promise<void>[]} */
        this.told = [];
        /** @type {any} */
        this.values = undefined;
        this.isInterrupted = false;
        this.isAtEnd = false; // the newest checkpoint has no next step, and its state is told
        /** @type {Transformers | undefined} */
        this.transformers = undefined;
        /** @type {string[]} what transformers have sent, as JSON, until it is emitted */
        this.sent = [];
    }

    cancel() {
        this.#isCancelled = true;
        this.#stop.abort();
    }

    /** The worker goes down: the job is requeued; 'lose' uses up an attempt.
     * @param {'return' | 'lose'} how */
    handBack(how) {
        this.#handedBack = how;
        this.#stop.abort();
    }

    /** Stops after the current step. */
    pause() {
        this.#isPausing = true;
        this.config.control?.requestDrain('pause');
    }

    /** The job was leased to another worker: stops, and drops its events. */
    drop() {
        this.#stop.abort();
        this.#lost.abort();
    }

    /** Whether an earlier attempt, or the run before a pause, has left checkpoints.  The newest of the
     * thread need not be one of them: somebody may have changed the state since. */
    async #hasBegun() {
        const { attempt, resume } = this.assignment;

        if (attempt <= 1 && !resume) return false;
        const place = { configurable: { thread_id: threadOf(this.assignment), checkpoint_ns: '' } };
        const filter = { run_id: this.config.metadata.run_id };
        for await (const _ of this.saver.list(place, { filter, limit: 1 })) return true;
        return false;
    }

    /** The answers to questions that are still open; a lost worker may have used the others.
     * @param {any} compiled @param {Record<string, unknown>} answers */
    async #answers(compiled, answers) {
        const { configurable } = this.config;
        const { tasks } = await compiled.getState({ configurable });
        const waiting = tasks.flatMap((/** @type {any} */ t) => t.interrupts.map((/** @type {any} */ i) => i.id));
        const resume = Object.fromEntries(Object.entries(answers).filter(([id]) => waiting.includes(id)));

        if (Object.keys(resume).length === 0) return null;
        return new this.graph.langgraph.Command({ resume });
    }

    /** @param {any} compiled */
    async #input(compiled) {
        const { input, resume, run = {} } = this.assignment;

        if (await this.#hasBegun()) {
            const { checkpoint_id, checkpoint_map, ...configurable } = this.config.configurable; // where it began

            this.config.configurable = configurable;
            return this.#answers(compiled, resume ?? {});
        }
        if (run.command) return commandOf(this.graph.langgraph, run.command);
        return input ?? null;
    }

    /** @param {any} part of the mode `checkpoints` */
    #take(part) {
        const state = stateOf(part);
        const madeBy = state.metadata.run_id ?? this.assignment.job;

        if (!state.checkpoint) return;
        const whole = this.outcomes.next(state);
        if (madeBy !== this.assignment.job) return; // that run has stored it, and more of it
        const saved = this.saver.saved(state.checkpoint.checkpoint_id);
        this.#wait(saved.then((/** @type {any} */ made) => made && this.#tell(whole)));
    }

    /** @param {any} state @returns {Promise<void>} */
    #tell(state) {
        const { thread_id, checkpoint_ns, checkpoint_id } = state.checkpoint;
        return this.saver.putState(thread_id, checkpoint_ns, checkpoint_id, state);
    }

    /** @param {Promise<void>} told */
    #wait(told) {
        told.catch(() => {}); // errors are handled when the run ends
        this.told.push(told);
    }

    /** @param {string[]} namespace @param {string} mode @param {any} payload */
    #look(namespace, mode, payload) {
        if (mode === 'checkpoints') this.#take(payload);
        if (mode === 'tasks') this.outcomes.heard(namespace, payload);
        if (namespace.length > 0) return;
        const asks = payload !== null && typeof payload === 'object' && '__interrupt__' in payload;
        if (asks) {
            this.isInterrupted = true;
        } else if (mode === 'values' && payload != null) {
            this.values = payload;
            this.isInterrupted = false;
        }
        if (mode === 'checkpoints') this.isAtEnd = payload.next.length === 0;
        const isBetween = mode === 'checkpoints' && !this.isAtEnd;
        if (isBetween && this.#isPausing && !this.config.control) this.#stop.abort();
    }

    /** @param {string[]} namespace @param {string} name @param {unknown} item */
    #send(namespace, name, item) {
        this.sent.push(encode([namespace, `custom:${name}`, item]));
    }

    /** Emits what transformers have sent. */
    async #flush() {
        while (this.sent.length > 0) await this.emit(/** @type {string} */ (this.sent.shift()));
    }

    /** @param {string[]} namespace @param {string} mode @param {any} payload */
    async #transform(namespace, mode, payload) {
        if (!this.transformers) return;
        this.transformers.take(namespace, mode, payload);
        await this.#flush();
    }

    /** @param {any} compiled @param {any} input @param {string[]} streamMode */
    async #parts(compiled, input, streamMode) {
        const options = { ...this.config, streamMode, subgraphs: true, signal: this.signal };

        for await (const [namespace, mode, payload] of await compiled.stream(input, options)) {
            if (isSaidAgain(mode, payload)) continue;
            this.#look(namespace, mode, payload);
            await this.#transform(namespace, mode, payload); // before the event that it is about, as in LangGraph
            await this.emit(encodePart(namespace, mode, payload));
        }
    }

    /** LangChain's own events, which carry the parts as chunks of the root.
     * @param {any} compiled @param {any} input @param {string[]} streamMode */
    async #events(compiled, input, streamMode) {
        const options = { ...this.config, streamMode, subgraphs: true, signal: this.signal };
        let root;

        for await (const event of compiled.streamEvents(input, { ...options, version: 'v2' })) {
            root ??= event.run_id;
            const chunk = event.data?.chunk;
            if (event.event === 'on_chain_stream' && event.run_id === root && Array.isArray(chunk)) {
                const [namespace, mode, payload] = chunk;
                if (isSaidAgain(mode, payload)) continue;
                this.#look(namespace, mode, payload);
                await this.#transform(namespace, mode, payload);
                event.data = { chunk: partOf(namespace, mode, payload) };
            }
            await this.emit(encode(saidOnce(event)));
        }
    }

    /** @param {any} chain */
    async #chain(chain) {
        let root;

        for await (const event of chain.streamEvents(this.assignment.input, { ...this.config, signal: this.signal, version: 'v2' })) {
            root ??= event.run_id;
            if (event.run_id === root && /^on_.*_end$/.test(event.event)) {
                this.values = event.data.output;
                // Clients of LangGraph's API look for the state.
                if (this.assignment.run) await this.emit(encodePart([], 'values', this.values));
            }
            await this.emit(encode(event));
        }
    }

    /** Stores the thread's state once more where the graph has stopped before its end: with its questions.
     * @param {any} compiled */
    async #tellLast(compiled) {
        if (this.isAtEnd && !this.isInterrupted) {
            this.saver.end();
            await Promise.all(this.told);
            return;
        }
        const { checkpoint_id, checkpoint_ns, checkpoint_map, ...configurable } =
            this.config.configurable;
        // What a subgraph asks is known only now: its state was stored before it asked.
        const snapshot = await compiled.getState({ configurable }, { subgraphs: this.isInterrupted });

        this.saver.end();
        if (snapshot.config?.configurable?.checkpoint_id)
            for (const one of statesOf(snapshot)) await this.#tellAgain(compiled, one);
        await Promise.all(this.told);
    }

    /** @param {any} compiled @param {any} snapshot */
    async #tellAgain(compiled, snapshot) {
        const state = this.outcomes.with(stateOf(snapshot));

        // Some tasks have ended, and wait for others: the thread's state has what they wrote, the history does not.
        if (state.tasks.some((/** @type {any} */ task) => task.result != null)) {
            const { values, next } = await compiled.getState(snapshot.config);
            state.recorded = { values, next };
        }
        this.#wait(this.#tell(state));
    }

    /** @returns {Promise<Finish>} */
    async #result() {
        const store = this.store;
        const compiled = await this.graph.compiled(this.config, this.saver, store);
        if (!isGraph(compiled)) {
            await this.#chain(compiled);
            return { status: 'success', output: this.values };
        }
        /** @type {string[]} */
        const asked = [this.assignment.run?.stream_mode ?? []].flat();
        const modes = asked.includes('debug') ? [...MODES, 'debug'] : MODES;
        const read = asked.includes('events') ? this.#events : this.#parts;

        this.transformers = Transformers.of(this.graph.langgraph, compiled, this.#send.bind(this));
        await read.call(this, compiled, await this.#input(compiled), modes);
        await this.transformers?.close();
        await this.#flush();
        await this.#tellLast(compiled);
        if (this.isInterrupted) return { status: 'interrupted' };
        return { status: 'success', output: this.values };
    }

    /** Never throws: the result says how the run ended. @returns {Promise<Finish>} */
    async run() {
        try {
            return await this.#result();
        } catch (error) {
            this.transformers?.fail(error);
            // Wait for checkpoints and states that are being stored, also when the run was stopped.
            this.saver.end();
            await Promise.allSettled([...this.saver.saving.values(), ...this.told]);
            if (this.#isCancelled) return { status: 'cancelled' };
            if (this.#handedBack) return { status: this.#handedBack };
            const isPaused = this.signal.aborted || /** @type {any} */ (error)?.name === 'GraphDrained';
            if (this.#isPausing && isPaused) return { status: 'interrupted' };
            const e = error instanceof Error ? error : new Error(String(error));
            return { status: 'failure', error: e.message, error_type: e.name };
        }
    }
}
