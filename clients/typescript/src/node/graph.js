/**
 * A graph as its project exports it: `./src/agent.mjs:graph`.
 *
 * The export may be a compiled graph, one that is not compiled yet, an agent of LangChain
 * (`createAgent()`, `createDeepAgent()`), an `entrypoint()` of the functional API, another runnable of
 * LangChain, or a function that makes one of these for a run's config.
 */
import fs from 'node:fs';
import path from 'node:path';

import { registerLogger } from './logger.js';
import { langgraph } from './peer.js';
import { saverClass } from './saver.js';
import { storeClass } from './store.js';
import { importing } from './typescript.js';

/** An agent of LangChain is a wrapper: what runs, and can be cloned, is the compiled graph inside.
 * @param {any} graph */
function unwrap(graph) {
    const inner = graph?.graph;

    return typeof inner?.stream === 'function' && inner.builder ? inner : graph;
}

/** What only graphs have: modes of streams, checkpoints, a store.  A chain has none of these.
 * @param {any} runnable */
export const isGraph = (runnable) => runnable?.lg_is_pregel === true;

/** What a graph is made for, in the words of LangGraph's Python SDK: a run, or a call by its name. All
 * other calls read the graph itself.
 * @type {Record<string, string>} */
export const USES = {
    run: 'threads.create_run',
    update_state: 'threads.update',
    bulk_update_state: 'threads.update',
    read: 'assistants.read',
};

export class Graph {
    /** @param {string} file @param {string} name @param {any} exported @param {any} lib */
    constructor(file, name, exported, lib) {
        this.file = file;
        this.name = name;
        this.exported = exported;
        this.langgraph = lib;
        this.Saver = saverClass(lib);
        this.Store = storeClass(lib);
    }

    /** @param {string} spec `file:export` */
    static async load(spec) {
        const colon = spec.lastIndexOf(':');
        if (colon <= 0) throw new Error(`${spec}: where is the graph? Say FILE:EXPORT`);
        const file = path.resolve(spec.slice(0, colon));
        const name = spec.slice(colon + 1);

        if (!fs.existsSync(file)) throw new Error(`${file} does not exist`);
        const lib = await langgraph(path.dirname(file));
        registerLogger(lib);
        const module = await importing(file);
        if (!(name in module)) {
            const names = Object.keys(module).join(', ') || 'nothing';
            throw new Error(`${file} exports no ${name}; it exports ${names}`);
        }
        return new Graph(file, name, await module[name], lib);
    }

    /**
     * The compiled graph with a checkpointer and a store of this run's own: its writes carry
     * this run's fence, whatever other runs of the process do.
     * @param {any} config @param {any} checkpointer @param {any} store
     * @param {string} [accessContext] what it is for, for a function that makes it
     */
    async compiled(config, checkpointer, store, accessContext = USES.run) {
        let graph = this.exported;

        if (typeof graph === 'function' && typeof graph.stream !== 'function') {
            const { context } = config;
            graph = await graph(config, { accessContext, store, user: null, ...(accessContext === USES.run ? { context } : {}) });
        }
        if (typeof graph?.compile === 'function') graph = graph.compile();
        graph = unwrap(graph);
        if (typeof graph?.stream !== 'function')
            throw new Error(`${this.file}: ${this.name} is no graph`);
        if (!isGraph(graph)) return graph;
        return Object.assign(Object.create(Object.getPrototypeOf(graph)), graph, {
            checkpointer,
            store,
        });
    }
}
