/**
 * A graph as its project exports it: `./src/agent.mjs:graph`.
 *
 * The export may be a compiled graph, one that is not compiled yet, an agent of LangChain
 * (`createAgent()`, `createDeepAgent()`), or a function that makes one of these for a run's config.
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
     */
    async compiled(config, checkpointer, store) {
        let graph = this.exported;

        if (typeof graph === 'function' && typeof graph.stream !== 'function')
            graph = await graph(config);
        if (typeof graph?.compile === 'function') graph = graph.compile();
        graph = unwrap(graph);
        if (typeof graph?.stream !== 'function')
            throw new Error(`${this.file}: ${this.name} is no graph`);
        return Object.assign(Object.create(Object.getPrototypeOf(graph)), graph, {
            checkpointer,
            store,
        });
    }
}
