/** LangGraph's long-term memory, kept in spoolwire's store (the routes under /store). */
import { index } from './embedding.js';
import { encode } from './plain.js';

/** @param {any} item */
const itemOf = (item) =>
    item && {
        namespace: item.namespace,
        key: item.key,
        value: item.value,
        createdAt: new Date(item.created_at),
        updatedAt: new Date(item.updated_at),
        ...(item.score === undefined ? {} : { score: item.score }),
    };

/** @param {{ BaseStore: any }} langgraph the package of the graph's project */
export function storeClass({ BaseStore }) {
    return class SpoolwireStore extends BaseStore {
        /**
         * @param {import('./wire.js').Wire} wire
         * @param {{ job: string, lease: string, executor?: string } | {}} [fence] of a job, whose owner's items these
         *     are; else they are those of the token's owner
         */
        constructor(wire, fence = {}) {
            super();
            this.wire = wire;
            this.fence = fence;
        }

        /** @param {string} method @param {string} what @param {string} [body] @param {Record<string, string>} [query] */
        #ask(method, what, body, query) {
            const text = new URLSearchParams({ ...query, ...this.fence }).toString();

            return this.wire.request(method, `/store/${what}${text && '?'}${text}`, body);
        }

        /** @param {any[]} operations one after another: a batch may read what it has written */
        async batch(operations) {
            const results = [];

            for (const operation of operations) results.push(await this.#do(operation));
            return results;
        }

        /** @param {any} o */
        async #do(o) {
            if ('namespacePrefix' in o) return this.#search(o);
            if ('matchConditions' in o || 'maxDepth' in o) return this.#namespaces(o);
            if ('value' in o) return this.#put(o);
            const place = { namespace: o.namespace.join('.'), key: o.key };
            return itemOf(await this.#ask('GET', 'items', undefined, place)) ?? null;
        }

        /** @param {any} o */
        async #put({ namespace, key, value, index: fields }) {
            const vectors = value === null ? undefined : await (await index())?.ofValue(value, fields);

            await (value === null
                ? this.#ask('DELETE', 'items', encode({ namespace, key }))
                : this.#ask('PUT', 'items', encode({ namespace, key, value, index: fields, vectors })));
        }

        /** @param {any} o */
        async #search({ namespacePrefix, filter, limit, offset, query }) {
            const vector = query ? await (await index())?.ofQuery(query) : undefined;
            const body = { namespace_prefix: namespacePrefix, filter, limit, offset, query, vector };
            const { items } = await this.#ask('POST', 'items/search', encode(body));

            return items.map(itemOf);
        }

        /** @param {any} o */
        async #namespaces({ matchConditions = [], maxDepth, limit, offset }) {
            const path = (/** @type {string} */ type) =>
                matchConditions.find((/** @type {any} */ m) => m.matchType === type)?.path;
            const body = {
                prefix: path('prefix'),
                suffix: path('suffix'),
                max_depth: maxDepth,
                limit,
                offset,
            };
            const answer = await this.#ask('POST', 'namespaces', encode(body));

            return answer.namespaces;
        }
    };
}
