/** Calls: short questions about a graph, answered while it runs: its drawing, its schemas, and the
 * state of a thread. */
import { embed } from './embedding.js';
import { isGraph, USES } from './graph.js';
import { commandOf } from './run.js';
import { schemasOf, subgraphSchemasOf } from './schemas.js';
import { checkpointOf, stateOf } from './state.js';

/** @typedef {import('./graph.js').Graph} Graph */

/** @type {Record<string, (graph: Graph, compiled: any, params: any, agent: string) => Promise<unknown>>} */
const ANSWERS = {
    async graph(_graph, compiled, { xray }) {
        const draw = compiled.getGraphAsync ?? compiled.getGraph; // the second is a chain's
        return (await draw.call(compiled, { xray: xray ?? undefined })).toJSON();
    },
    async schemas(graph, compiled, _params, agent) {
        return { graph_id: agent, ...(await schemasOf(graph, compiled)) };
    },
    async subgraphs(graph, compiled, { namespace, recurse }) {
        /** @type {Record<string, unknown>} */
        const found = {};

        if (!isGraph(compiled)) return found;
        for await (const [ns, sub] of compiled.getSubgraphsAsync(namespace ?? undefined, recurse ?? false))
            found[ns] = await subgraphSchemasOf(graph, sub, ns);
        return found;
    },
    async update_state(_graph, compiled, { thread, config, values, as_node }) {
        const configurable = { ...config?.configurable, thread_id: thread };
        const place = await compiled.updateState({ ...config, configurable }, values, as_node ?? undefined);
        const snapshot = await compiled.getState(place);
        const { thread_id, checkpoint_ns, checkpoint_id } = /** @type {any} */ (
            checkpointOf(snapshot.config)
        );

        await compiled.checkpointer.putState(thread_id, checkpoint_ns, checkpoint_id, stateOf(snapshot));
        return { checkpoint: { thread_id, checkpoint_ns, checkpoint_id } };
    },
    /** Updates a thread several times; every state is stored. */
    async bulk_update_state(graph, compiled, { thread, supersteps }) {
        const config = { configurable: { thread_id: thread, checkpoint_ns: '' } };
        const place = await compiled.bulkUpdateState(
            config,
            supersteps.map((/** @type {any} */ step) => ({
                updates: step.updates.map((/** @type {any} */ { values, command, as_node }) => ({
                    values: command ? commandOf(graph.langgraph, command) : values,
                    asNode: as_node ?? undefined,
                })),
            })),
        );
        const states = [];

        for await (const snapshot of compiled.getStateHistory(config, { limit: supersteps.length }))
            states.push(snapshot);
        // the newest last: it becomes the thread's state
        for (const snapshot of states.reverse()) {
            const { checkpoint_ns, checkpoint_id } = /** @type {any} */ (checkpointOf(snapshot.config));
            await compiled.checkpointer.putState(thread, checkpoint_ns, checkpoint_id, stateOf(snapshot));
        }
        return { checkpoint: checkpointOf(place) };
    },
};

/**
 * @param {Graph} graph @param {import('./wire.js').Wire} wire
 * @param {{ id: string, name: string, params?: any }} call @param {string} agent
 * @returns {Promise<{ answer: unknown } | { error: string }>}
 */
export async function answerCall(graph, wire, call, agent) {
    const answer = ANSWERS[call.name];

    if (call.name === 'embed')
        return embed(call.params ?? {}).then(
            (vectors) => ({ answer: vectors }),
            (error) => ({ error: error instanceof Error ? error.message : String(error) }),
        );
    if (!answer) return { error: `this worker knows no call '${call.name}'` };
    try {
        const saver = new graph.Saver(wire, { call: call.id });
        const compiled = await graph.compiled(
            { configurable: call.params?.config?.configurable ?? {} },
            saver,
            new graph.Store(wire),
            USES[call.name] ?? USES.read,
        );
        return { answer: (await answer(graph, compiled, call.params ?? {}, agent)) ?? null };
    } catch (error) {
        return { error: error instanceof Error ? error.message : String(error) };
    }
}
