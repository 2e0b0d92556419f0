/**
 * The JSON Schemas of a graph, as LangGraph's JavaScript server finds them: first those that the graph
 * itself knows (a `StateSchema`, Zod), then those of its types in TypeScript.
 *
 * Types are read by LangGraph's own extractor, in the package `@langchain/langgraph-api` of the graph's
 * project (`@langchain/langgraph-cli` brings it) with the project's `typescript`.  Without these, only the
 * names of the channels are known.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { load } from './peer.js';

/** @typedef {import('./graph.js').Graph} Graph */
/** @typedef {{ state?: any, input?: any, output?: any, config?: any }} Schemas */

const PARTIAL = Symbol.for('langgraph.state.partial'); // an input that is the state, with nothing required
const READER = fileURLToPath(new URL('./types.js', import.meta.url));
const READ_MS = 30_000; // unless LANGGRAPH_SCHEMA_RESOLVE_TIMEOUT_MS says otherwise

/** @param {Schemas} found @returns {Schemas | undefined} */
const unlessEmpty = (found) => (Object.values(found).some((schema) => schema) ? found : undefined);

/** @param {any} definition */
const isStateSchema = (definition) =>
    typeof definition?.getJsonSchema === 'function' && typeof definition.getInputJsonSchema === 'function';

/** @param {any} builder @returns {Schemas | undefined} */
function fromStateSchema({ _schemaRuntimeDefinition: state, _inputRuntimeDefinition: input, _outputRuntimeDefinition: output }) {
    const taken = input === PARTIAL ? state : input;

    return unlessEmpty({
        state: isStateSchema(state) ? state.getJsonSchema() : undefined,
        input: isStateSchema(taken) ? taken.getInputJsonSchema() : undefined,
        output: isStateSchema(output) ? output.getJsonSchema() : undefined,
    });
}

/** Zod as LangGraph has registered it, with what `withLangGraph()` adds.
 * @param {string} folder @param {any} compiled @returns {Promise<Schemas | undefined>} */
async function fromRegistry(folder, compiled) {
    const zod = await load(folder, '@langchain/langgraph', './zod/schema');

    return unlessEmpty({
        state: zod.getUpdateTypeSchema(compiled),
        input: zod.getInputTypeSchema(compiled),
        output: zod.getOutputTypeSchema(compiled),
        config: zod.getConfigTypeSchema(compiled),
    });
}

/** @param {string} folder @param {any} compiled @returns {Promise<Schemas | undefined>} */
async function fromZod(folder, { builder }) {
    const { toJsonSchema } = await load(folder, '@langchain/core', './utils/json_schema');
    const { isZodSchemaV3, isZodSchemaV4 } = await load(folder, '@langchain/core', './utils/types');
    const from = (/** @type {any} */ schema) =>
        isZodSchemaV4(schema) || isZodSchemaV3(schema) ? toJsonSchema(schema) : undefined;
    const state = from(builder._schemaRuntimeDefinition);

    return unlessEmpty({
        state,
        input: from(builder._inputRuntimeDefinition) ?? (state && { ...state, required: undefined }),
        output: from(builder._outputRuntimeDefinition),
        config: from(builder._configRuntimeSchema),
    });
}

/** What the graph itself knows.
 * @param {string} folder @param {any} compiled @returns {Promise<Schemas | undefined>} */
async function ofRuntime(folder, compiled) {
    const ways = [() => fromStateSchema(compiled.builder), () => fromRegistry(folder, compiled), () => fromZod(folder, compiled)];

    if (!compiled.builder) return undefined;
    for (const way of ways)
        try {
            const found = await way();
            if (found) return found;
        } catch {
            // an older LangGraph, or a type that has no JSON Schema: the next way may do
        }
    return undefined;
}

/** Of all graphs in the file, by the graph's name and the namespaces of its subgraphs: `graph`, `graph|node`.
 * @param {Graph} graph @returns {Promise<Record<string, Schemas>>} */
async function ofTypes({ file, name }) {
    const child = fork(READER, [file, name], { execArgv: [], stdio: ['ignore', 2, 2, 'ipc'] });
    const ended = once(child, 'exit').then(() => [{ error: 'the compiler ended without an answer' }]);
    const [{ schemas, error }] = await Promise.race([once(child, 'message'), ended]);

    if (error) process.stderr.write(`${file}: only the names of its channels are known, not their types: ${error}\n`);
    return schemas ?? {};
}

/** @param {any} channels names @returns {any} */
function namesOnly(channels) {
    /** @type {Record<string, object>} */
    const properties = {};

    for (const name of [channels].flat())
        properties[name] = name === 'messages' ? { type: 'array', items: { type: 'object' }, title: 'Messages' } : {};
    return { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', properties };
}

/** @param {any} compiled @returns {Schemas} */
function ofChannels(compiled) {
    const visible = Object.keys(compiled.channels ?? {}).filter((name) => !/^__|:/.test(name));
    const inner = (/** @type {any} */ channels) =>
        [channels].flat().every((name) => visible.includes(name)) ? channels : visible;

    return {
        state: namesOnly(visible),
        input: namesOnly(inner(compiled.inputChannels)),
        output: namesOnly(inner(compiled.outputChannels)),
    };
}

/** The types of a file do not change while its graph is loaded.
 * @type {WeakMap<Graph, Promise<Record<string, Schemas>>>} */
const read = new WeakMap();

/** Nothing when they are not read in time; a later question gets them.
 * @param {Graph} graph @returns {Promise<Record<string, Schemas>>} */
async function typesOf(graph) {
    const ms = Number.parseInt(process.env.LANGGRAPH_SCHEMA_RESOLVE_TIMEOUT_MS ?? '', 10) || READ_MS;
    const known = read.get(graph) ?? ofTypes(graph);

    read.set(graph, known);
    return Promise.race([known, pause(ms, {}, { ref: false })]);
}

/** @param {Graph} graph @param {any} compiled the graph, or one inside @param {string} [ns] the namespace of that
 * @returns {Promise<Schemas>} */
async function find(graph, compiled, ns) {
    const known = await ofRuntime(path.dirname(graph.file), compiled);

    if (known) return known;
    if (!compiled.builder) return ofChannels(compiled); // a chain, a function: it has no typed state
    const typed = await typesOf(graph);
    const root = Object.keys(typed).find((name) => !name.includes('|'));

    if (root === undefined) return ofChannels(compiled);
    return ns === undefined ? typed[root] : (typed[`${root}|${ns}`] ?? typed[root]);
}

/** @param {Graph} graph @param {any} compiled @param {string} [ns] */
export async function schemasOf(graph, compiled, ns) {
    const { state, input, output, config } = await find(graph, compiled, ns);

    return {
        input_schema: input ?? null,
        output_schema: output ?? null,
        state_schema: state ?? null,
        // JavaScript's graphs have one schema for both.
        config_schema: config ?? {},
        context_schema: config ?? {},
    };
}

/** Of a graph inside another: LangGraph's JavaScript server names them in its own way, its SDK's types as those
 * of an assistant.
 * @param {Graph} graph @param {any} compiled @param {string} ns */
export async function subgraphSchemasOf(graph, compiled, ns) {
    const found = await schemasOf(graph, compiled, ns);
    const { state_schema: state, input_schema: input, output_schema: output, config_schema: config } = found;

    return { state, input, output, config, ...found };
}
