/** Calls: short questions about a graph, answered while it runs: its drawing, its schemas, and the
 * state of a thread. */
import path from 'node:path';

import { isGraph, USES } from './graph.js';
import { load } from './peer.js';
import { commandOf } from './run.js';
import { checkpointOf, stateOf } from './state.js';

/** @typedef {import('./graph.js').Graph} Graph */

/** @param {any} channels */
function schemaOf(channels) {
    /** @type {Record<string, object>} */
    const properties = {};

    for (const name of Array.isArray(channels) ? channels : [channels])
        properties[name] =
            name === 'messages' ? { type: 'array', items: { type: 'object' }, title: 'Messages' } : {};
    return { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', properties };
}

/** JSON Schema is known for states that were written with Zod; for others, only the names.
 * @param {Graph} graph @param {any} compiled */
async function schemas(graph, compiled) {
    const zod = await load(path.dirname(graph.file), '@langchain/langgraph', './zod/schema').catch(
        () => ({}),
    );
    const from = (/** @type {string} */ what, /** @type {any} */ channels) => {
        try {
            return zod[what]?.(compiled) ?? (channels && schemaOf(channels));
        } catch {
            return channels && schemaOf(channels);
        }
    };
    const visible = Object.keys(compiled.channels ?? {}).filter((name) => !/^__|:/.test(name));
    const inner = (/** @type {any} */ channels) =>
        [channels].flat().every((name) => visible.includes(name)) ? channels : visible;

    return {
        graph_id: graph.name,
        input_schema: from('getInputTypeSchema', inner(compiled.inputChannels)),
        output_schema: from('getOutputTypeSchema', inner(compiled.outputChannels)),
        state_schema: from('getStateTypeSchema', visible),
        config_schema: from('getConfigTypeSchema', undefined) ?? {},
        context_schema: from('getConfigTypeSchema', undefined) ?? {},
    };
}

/** @type {Record<string, (graph: Graph, compiled: any, params: any, agent: string) => Promise<unknown>>} */
const ANSWERS = {
    async graph(_graph, compiled, { xray }) {
        const draw = compiled.getGraphAsync ?? compiled.getGraph; // the second is a chain's
        return (await draw.call(compiled, { xray: xray ?? undefined })).toJSON();
    },
    async schemas(graph, compiled, _params, agent) {
        return { ...(await schemas(graph, compiled)), graph_id: agent };
    },
    async subgraphs(graph, compiled, { namespace, recurse }) {
        /** @type {Record<string, unknown>} */
        const found = {};

        if (!isGraph(compiled)) return found;
        for await (const [ns, sub] of compiled.getSubgraphsAsync(namespace ?? undefined, recurse ?? false))
            found[ns] = await schemas(graph, sub);
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
