/**
 * A graph's own stream transformers (`compile({ transformers })`): code of the project that sees every event
 * of a run, and sends data of its own on named channels.
 *
 *     [namespace, mode, payload] ─▶ protocol events ─▶ transformer.process() ─▶ channel.push(item)
 *                                                                               └▶ send(namespace, name, item)
 *
 * What a transformer promises (a projection that is a promise) is sent under its key at the end. Only the
 * project's transformers run here: those of LangChain's own agents make lifecycles and tools, which the
 * gateway makes of the parts.
 */
import { MessageEvents } from './message_events.js';

/** @param {any} value */
const isPromise = (value) => typeof value?.then === 'function';

/** A checkpoint as transformers know it.
 * @param {any} payload */
function envelopeOf({ config, parentConfig, parent_config, metadata }) {
    const parent = (parentConfig ?? parent_config)?.configurable?.checkpoint_id;

    return {
        id: config?.configurable?.checkpoint_id ?? '',
        ...(parent ? { parent_id: parent } : {}),
        step: metadata?.step ?? 0,
        source: metadata?.source ?? 'loop',
    };
}

export class Transformers {
    /** @type {string[]} of the event at hand: what is pushed meanwhile belongs to it */
    #namespace = [];
    #messages = new MessageEvents();
    /** @type {{name: string, promise: Promise<unknown>}[]} */
    #promised = [];
    /** @type {any[]} */
    #channels = [];

    /**
     * @param {any} lib LangGraph, as the graph's project has it
     * @param {any[]} transformers
     * @param {(namespace: string[], name: string, item: unknown) => void} send
     */
    constructor(lib, transformers, send) {
        this.lib = lib;
        this.transformers = transformers;
        this.send = send;
        for (const transformer of transformers) {
            this.#wire(transformer.init() ?? {});
            transformer.onRegister?.({ push: (/** @type {string[]} */ ns, /** @type {any} */ event) => this.#push(ns, event) });
        }
    }

    /** Those of a graph; undefined if it has none.
     * @param {any} lib @param {any} compiled
     * @param {(namespace: string[], name: string, item: unknown) => void} send */
    static of(lib, compiled, send) {
        if (!compiled.streamTransformers?.length || !lib.convertToProtocolEvent) return undefined;
        const made = compiled.streamTransformers.map((/** @type {() => any} */ make) => make());
        const own = made.filter((/** @type {any} */ t) => !lib.isNativeTransformer(t));

        return own.length === 0 ? undefined : new Transformers(lib, own, send);
    }

    /** @param {Record<string, any>} projection */
    #wire(projection) {
        for (const [key, value] of Object.entries(projection)) {
            if (this.lib.StreamChannel.isInstance(value)) {
                this.#channels.push(value);
                const name = value.channelName;
                if (typeof name === 'string') value._wire((/** @type {unknown} */ item) => this.send(this.#namespace, name, item));
            } else if (isPromise(value)) {
                this.#promised.push({ name: key, promise: Promise.resolve(value) });
            }
        }
    }

    /** @param {string[]} namespace @param {any} event */
    #push(namespace, event) {
        const outer = this.#namespace; // a transformer may push while it processes

        this.#namespace = namespace;
        for (const transformer of this.transformers) transformer.process(event);
        this.#namespace = outer;
    }

    /** @param {string[]} namespace @param {string} mode @param {any} payload */
    #eventsOf(namespace, mode, payload) {
        if (mode === 'messages') return this.#messages.take(namespace, payload[0], payload[1]);
        const given = mode === 'checkpoints' ? envelopeOf(payload) : payload;

        return this.lib.convertToProtocolEvent({ namespace, mode, payload: given, seq: 0 });
    }

    /** @param {string[]} namespace @param {string} mode @param {any} payload */
    take(namespace, mode, payload) {
        const events = this.#eventsOf(namespace, mode, payload);

        if (mode === 'tasks' && ('result' in payload || 'error' in payload))
            events.unshift(...this.#messages.finish([...namespace, `${payload.name}:${payload.id}`]));
        for (const event of events) this.#push(event.params.namespace, event);
    }

    /** The graph has ended: sends what the transformers have promised. */
    async close() {
        for (const event of this.#messages.finish([])) this.#push(event.params.namespace, event);
        await Promise.all(this.transformers.map((t) => t.finalize?.()));
        for (const channel of this.#channels) channel._close();
        for (const { name, promise } of this.#promised) {
            const [said] = await Promise.allSettled([promise]);
            if (said.status === 'fulfilled') this.send([], name, said.value);
        }
    }

    /** @param {unknown} error */
    fail(error) {
        for (const { promise } of this.#promised) promise.catch(() => {}); // nobody waits for it
        for (const transformer of this.transformers) transformer.fail?.(error);
        for (const channel of this.#channels) channel._fail(error);
    }
}
