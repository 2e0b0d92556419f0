/**
 * What `getLogger()` of `@langchain/langgraph-sdk/logging` returns.
 *
 * LangGraph's server puts its logger where the SDK looks for it, before it loads the graphs: modules
 * ask for it as they are loaded.  Ours writes lines to standard error, which the server keeps in its log.
 * `LOG_LEVEL` is the least important level that is written, `debug` unless set, as with
 * LangGraph's server.
 */
import { inspect } from 'node:util';

import { encode } from './plain.js';

const REGISTERED = Symbol.for('langgraph.api.sdk-logger');

/** The levels of the SDK's logger by importance.
 * @type {Record<string, number>} */
const LEVELS = {
    error: 0,
    warn: 1,
    help: 2,
    data: 2,
    info: 2,
    prompt: 2,
    http: 3,
    verbose: 4,
    input: 4,
    debug: 5,
    silly: 6,
};

/** @param {unknown} value */
const textOf = (value) =>
    typeof value === 'string' ? value : value instanceof Error ? inspect(value) : encode(value);

/** @param {string} level @param {string | undefined} node @param {unknown[]} said */
function lineOf(level, node, said) {
    return [`${level}:`, ...(node === undefined ? [] : [`[${node}]`]), ...said.map(textOf)].join(' ');
}

/** @param {any} langgraph the package of the graph's project, which knows the node that is at work */
export function registerLogger(langgraph) {
    const least = LEVELS[process.env.LOG_LEVEL ?? 'debug'] ?? LEVELS.debug;
    const node = () => {
        try {
            return langgraph.getConfig?.()?.metadata?.langgraph_node;
        } catch {
            return undefined; // outside of a run
        }
    };
    /** @type {Record<string, any>} */
    const logger = {};

    for (const level of Object.keys(LEVELS))
        logger[level] = (/** @type {unknown[]} */ ...said) => {
            if (LEVELS[level] <= least) process.stderr.write(`${lineOf(level, node(), said)}\n`);
            return logger;
        };
    // As winston's: the level is an argument.
    logger.log = (/** @type {any} */ level, /** @type {unknown[]} */ ...said) =>
        typeof level === 'string'
            ? (logger[level] ?? logger.info)(...said)
            : (logger[level?.level] ?? logger.info)(level?.message ?? level);
    logger.child = () => logger;
    /** @type {any} */ (globalThis)[REGISTERED] = logger;
}
