/**
 * A checkpointer that keeps a thread's checkpoints in spoolwire's store, so that another worker can
 * continue where this one stopped, without another database.
 *
 * Values of channels are stored once for each version; a checkpoint names the versions that it
 * has.  Writes carry a fence: the lease of the job, or the call, in whose name they are made.  A
 * worker that lost its job is refused.
 */
import { encode } from './plain.js';

/** Indexes of special writes, the same as in every checkpointer of LangGraph.
 * @type {Record<string, number>} */
const SPECIAL = { __error__: -1, __scheduled__: -2, __interrupt__: -3, __resume__: -4 };

/**
 * @typedef {{ job: string, lease: string, executor?: string } | { call: string } | {}} Fence
 * @typedef {{ type: string, data: string }} Blob
 */

/** @param {Fence} fence */
function query(fence) {
    const text = new URLSearchParams(/** @type {any} */ (fence)).toString();
    return text === '' ? '' : `?${text}`;
}

/** @param {any} serde @param {unknown} value @returns {Promise<Blob>} */
async function pack(serde, value) {
    const [type, bytes] = await serde.dumpsTyped(value);
    return { type, data: Buffer.from(bytes).toString('base64') };
}

/** @param {any} serde @param {Blob} blob */
const unpack = (serde, { type, data }) => serde.loadsTyped(type, Buffer.from(data, 'base64'));

/** @param {any} config */
function placeOf(config) {
    const { thread_id, checkpoint_ns = '', checkpoint_id } = config.configurable ?? {};

    if (thread_id === undefined) throw new Error('a checkpoint needs a configurable.thread_id');
    return { thread: String(thread_id), ns: checkpoint_ns, id: checkpoint_id || undefined };
}

/** The metadata of a checkpoint: with the plain values of the run's config, by which it can be found.
 * @param {any} config @param {any} metadata */
function metadataOf({ configurable, metadata: given }, metadata) {
    const isPlain = (/** @type {[string, unknown]} */ [key, value]) =>
        !/^(__|checkpoint_|langgraph_)/.test(key) && ['string', 'number', 'boolean'].includes(typeof value);

    return {
        ...Object.fromEntries(Object.entries(configurable ?? {}).filter(isPlain)),
        ...given,
        ...metadata,
    };
}

/** @param {string} thread @param {string} ns @param {string} id */
const configOf = (thread, ns, id) => ({
    configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id: id },
});

/** @param {{ BaseCheckpointSaver: any }} langgraph the package of the graph's project */
export function saverClass({ BaseCheckpointSaver }) {
    return class SpoolwireSaver extends BaseCheckpointSaver {
        /** @param {import('./wire.js').Wire} wire @param {Fence} [fence] @param {AbortSignal} [signal] */
        constructor(wire, fence = {}, signal = undefined) {
            super();
            this.wire = wire;
            this.query = query(fence);
            this.signal = signal;
            /** Checkpoints that are stored or are being stored.
             * @type {Map<string, Promise<{ created_at: string, metadata: any }>>} */
            this.saving = new Map();
            /** Who waits for others. @type {Map<string, (saved: any) => void>} */
            this.awaited = new Map();
            /** Hears what tasks write. @type {((checkpoint: string, task: string, writes: [string, unknown][]) => void) | undefined} */
            this.onWrites = undefined;
        }

        /** @param {string} thread @param {string} what @param {string} body */
        post(thread, what, body) {
            const path = `/v1/worker/threads/${encodeURIComponent(thread)}/${what}${this.query}`;
            return this.wire.request('POST', path, body, { signal: this.signal });
        }

        /** Versions of two branches of a thread must differ; the first part orders them.
         * @param {number | string | undefined} current */
        getNextVersion(current) {
            const n = current === undefined ? 0 : Number.parseInt(String(current), 10);
            const random = Math.floor(Math.random() * 1e16);

            return `${String(n + 1).padStart(32, '0')}.${String(random).padStart(16, '0')}`;
        }

        /** @param {any} config @param {any} checkpoint @param {any} metadata @param {Record<string, any>} news */
        async put(config, checkpoint, metadata, news) {
            const { thread, ns, id: parent } = placeOf(config);
            const all = metadataOf(config, metadata);
            const saved = this.#put(thread, ns, parent, checkpoint, all, news ?? {}).then(() => ({
                created_at: checkpoint.ts,
                metadata: all,
            }));

            this.saving.set(checkpoint.id, saved);
            this.awaited.get(checkpoint.id)?.(saved);
            this.awaited.delete(checkpoint.id);
            await saved;
            return configOf(thread, ns, checkpoint.id);
        }

        /** What a state has of its checkpoint.  A graph streams a checkpoint before it stores it; one that it
         * never stores (`durability: "exit"`) is undefined, once it is known.
         * @param {string} id
         * @returns {Promise<{ created_at: string, metadata: any } | undefined>} */
        saved(id) {
            return this.saving.get(id) ?? new Promise((resolve) => this.awaited.set(id, resolve));
        }

        /** The graph has ended: it stores no more checkpoints. */
        end() {
            for (const resolve of this.awaited.values()) resolve(undefined);
            this.awaited.clear();
        }

        /** @param {string} thread @param {string} ns @param {string | undefined} parent
         * @param {any} checkpoint @param {any} metadata @param {Record<string, any>} news */
        async #put(thread, ns, parent, checkpoint, metadata, news) {
            const { channel_values: values = {}, ...rest } = checkpoint;
            /** @type {Record<string, string>} */
            const versions = {};
            /** @type {Record<string, Blob & { version: string }>} */
            const blobs = {};

            for (const channel of Object.keys(values))
                if (checkpoint.channel_versions[channel] !== undefined)
                    versions[channel] = String(checkpoint.channel_versions[channel]);
            for (const [channel, version] of Object.entries(news))
                if (channel in values)
                    blobs[channel] = {
                        version: String(version),
                        ...(await pack(this.serde, values[channel])),
                    };
            await this.post(
                thread,
                'checkpoints',
                encode({
                    ns,
                    id: checkpoint.id,
                    parent: parent ?? null,
                    checkpoint: await pack(this.serde, rest),
                    metadata,
                    versions,
                    blobs,
                }),
            );
        }

        /** @param {any} config @param {[string, unknown][]} writes @param {string} task */
        async putWrites(config, writes, task) {
            const { thread, ns, id } = placeOf(config);

            this.onWrites?.(/** @type {string} */ (id), task, writes);
            const rows = await Promise.all(
                writes.map(async ([channel, value], i) => ({
                    idx: SPECIAL[channel] ?? i,
                    channel,
                    ...(await pack(this.serde, value)),
                })),
            );
            await this.post(thread, 'writes', encode({ ns, id, task, path: '', writes: rows }));
        }

        /** Stores the JSON state of a checkpoint, which the server shows when no worker is connected.
         * @param {string} thread @param {string} ns @param {string} id @param {any} state */
        async putState(thread, ns, id, state) {
            const saved = await this.saving.get(id);

            await this.post(thread, 'state', encode({ ns, id, state: { ...state, ...saved } }));
        }

        /** @param {string} thread @param {any} found */
        async #tuple(thread, found) {
            const checkpoint = await unpack(this.serde, found.checkpoint);
            /** @type {Record<string, unknown>} */
            const values = {};

            for (const [channel, blob] of Object.entries(found.blobs ?? {}))
                if (blob.type !== 'empty') values[channel] = await unpack(this.serde, blob);
            return {
                config: configOf(thread, found.ns, found.id),
                checkpoint: { ...checkpoint, channel_values: values },
                metadata: found.metadata,
                parentConfig: found.parent ? configOf(thread, found.ns, found.parent) : undefined,
                pendingWrites: await Promise.all(
                    (found.writes ?? []).map(async (/** @type {any} */ w) => [
                        w.task,
                        w.channel,
                        await unpack(this.serde, w),
                    ]),
                ),
            };
        }

        /** @param {any} config */
        async getTuple(config) {
            const { thread, ns, id } = placeOf(config);
            const { checkpoint } = await this.post(thread, 'checkpoints/get', encode({ ns, id }));

            return checkpoint ? this.#tuple(thread, checkpoint) : undefined;
        }

        /** @param {any} config @param {{ limit?: number, before?: any, filter?: Record<string, any> }} [options] */
        async *list(config, { limit, before, filter } = {}) {
            const { thread } = placeOf(config);
            const { checkpoints } = await this.post(
                thread,
                'checkpoints/list',
                encode({
                    ns: config.configurable.checkpoint_ns,
                    before: before?.configurable?.checkpoint_id,
                    limit,
                    filter,
                }),
            );
            for (const found of checkpoints) yield await this.#tuple(thread, found);
        }

        /** @param {string} thread */
        async deleteThread(thread) {
            const path = `/v1/worker/threads/${encodeURIComponent(thread)}/checkpoints${this.query}`;
            await this.wire.request('DELETE', path, undefined, { signal: this.signal });
        }
    };
}
