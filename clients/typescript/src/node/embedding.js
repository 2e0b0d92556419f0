/**
 * Vectors of what items say, for searches by meaning: `store.index` of langgraph.json, which `spoolwire dev`
 * passes on as LANGGRAPH_STORE, as LangGraph's servers do.
 *
 *     {"index": {"embed": "./embed.mjs:embed", "dims": 256, "fields": ["text"]}}
 *
 * `embed` is a function of texts, or an object of LangChain's `Embeddings`.
 */
import path from 'node:path';

import { load } from './peer.js';
import { importing } from './typescript.js';

class Index {
    /** @param {any} model @param {any} paths functions of LangGraph @param {any} said */
    constructor(model, paths, { fields, dims }) {
        this.model = model;
        this.paths = paths;
        this.fields = fields ?? ['$'];
        this.dims = dims;
    }

    /** @param {any} said */
    static async load(said) {
        const at = String(said.embed).lastIndexOf(':');
        const file = path.resolve(said.embed.slice(0, at));
        const name = said.embed.slice(at + 1);

        if (at <= 0 || !/\.[cm]?[jt]sx?$/.test(file))
            throw new Error(`store.index.embed: '${said.embed}' is no FILE:EXPORT, which this worker could load`);
        const model = (await importing(file))[name];
        if (typeof model !== 'function' && typeof model?.embedDocuments !== 'function')
            throw new Error(`${file} exports no function or embeddings ${name}`);
        return new Index(model, await load(path.dirname(file), '@langchain/langgraph-checkpoint'), said);
    }

    /** @param {any} value @param {string[] | false | null} [fields] false: none; null: those of the index
     * @returns {Promise<number[][]>} */
    async ofValue(value, fields) {
        const { getTextAtPath } = this.paths;

        if (fields === false) return [];
        const texts = (fields ?? this.fields).flatMap((/** @type {string} */ at) =>
            at === '$' ? [JSON.stringify(value)] : getTextAtPath(value, at),
        );
        if (texts.length === 0) return [];
        return this.#checked(await (typeof this.model === 'function' ? this.model(texts) : this.model.embedDocuments(texts)));
    }

    /** @param {string} text @returns {Promise<number[]>} */
    async ofQuery(text) {
        return this.#checked([
            typeof this.model === 'function' ? (await this.model([text]))[0] : await this.model.embedQuery(text),
        ])[0];
    }

    /** @param {number[][]} vectors */
    #checked(vectors) {
        for (const { length } of vectors)
            if (this.dims && length !== this.dims)
                throw new Error(`store.index of langgraph.json says ${this.dims} dims, and its model makes ${length}`);
        return vectors.map((vector) => [...vector]);
    }
}

/** @type {Promise<Index | undefined> | undefined} */
let found;

/** The one of the environment; it is loaded when it is first needed. */
export function index() {
    found ??= (async () => {
        const said = JSON.parse(process.env.LANGGRAPH_STORE || '{}').index;
        return said && (await Index.load(said));
    })();
    return found;
}

/** The call `embed`: of an item's value, or of what is searched for.
 * @param {{ value?: any, index?: any, query?: string }} params */
export async function embed(params) {
    const model = await index();

    if (!model) throw new Error('LANGGRAPH_STORE has no index: this worker has no embedding model');
    return { vectors: params.query === undefined ? await model.ofValue(params.value, params.index) : [await model.ofQuery(params.query)] };
}
