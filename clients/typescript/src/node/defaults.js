/**
 * What the environment says of a graph: LANGGRAPH_CONFIG, as LangGraph's servers read it.
 *
 *     {"agent": {"configurable": {"model": "small"}}, "other": {"context": {"size": 3}}}
 *
 * The values are those of the assistant that the graph has by itself; other assistants have their own.
 */
import { createHash } from 'node:crypto';

const GRAPHS = '6ba7b8219dad11d180b400c04fd430c8'; // LangGraph's namespace of assistants' ids

/** @param {string} graph @returns {string} the id of its assistant: a UUIDv5 of its name */
function assistantOf(graph) {
    const hash = createHash('sha1').update(Buffer.from(GRAPHS, 'hex')).update(graph).digest().subarray(0, 16);

    hash[6] = (hash[6] & 0x0f) | 0x50;
    hash[8] = (hash[8] & 0x3f) | 0x80;
    return hash.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** @returns {Record<string, any>} */
function ofEnvironment() {
    const text = process.env.LANGGRAPH_CONFIG;
    let said;

    if (!text) return {};
    try {
        said = JSON.parse(text);
    } catch {
        said = undefined;
    }
    if (typeof said !== 'object' || said === null || Array.isArray(said))
        throw new Error(`LANGGRAPH_CONFIG must be a JSON object by names of graphs, not ${text.slice(0, 80)}`);
    return said;
}

/** @param {any} run as a client of LangGraph's API has asked for it @param {string} agent
 * @returns {any} the same with the defaults of the graph below what it has */
export function withDefaults(run, agent) {
    const { context, ...below } = ofEnvironment()[agent] ?? {};
    const isOther = run.assistant_id && run.assistant_id !== agent && run.assistant_id !== assistantOf(agent);

    if ((!context && Object.keys(below).length === 0) || isOther) return run;
    const shared = context ?? below.configurable;
    return {
        ...run,
        config: { ...below, ...run.config, configurable: { ...shared, ...run.config?.configurable } },
        ...(context || run.context ? { context: { ...shared, ...run.context } } : {}),
    };
}
