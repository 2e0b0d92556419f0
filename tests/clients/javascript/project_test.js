// What `spoolwire dev` makes of a project: the schemas of its types, and the members of its langgraph.json.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { project, Server } from '../../lib/server.js';

// A state that only TypeScript knows, a context, and a graph inside.
const TYPED = `
    import { Annotation, START, StateGraph } from '@langchain/langgraph';

    const Inner = Annotation.Root({ step: Annotation<'one' | 'two'>() });
    const inner = new StateGraph(Inner).addNode('steps', () => ({ step: 'one' as const })).addEdge(START, 'steps').compile();

    const State = Annotation.Root({ count: Annotation<number>(), model: Annotation<string>() });
    const Context = Annotation.Root({ model: Annotation<'small' | 'large'>() });

    export const graph = new StateGraph(State, Context)
        .addNode('says', (_, runtime) => ({ model: String(runtime.context?.model) }))
        .addNode('inside', inner)
        .addEdge(START, 'says')
        .addEdge('says', 'inside')
        .compile();`;
const STATED = `
    import { START, StateGraph, StateSchema, MessagesValue } from '@langchain/langgraph';
    import { z } from 'zod';

    const State = new StateSchema({ messages: MessagesValue, count: z.number().default(0) });

    export const graph = new StateGraph(State).addNode('nothing', () => ({})).addEdge(START, 'nothing').compile();`;
const ABOUT = {
    graphs: { typed: './typed.mts:graph', stated: './stated.mts:graph' },
    env: {
        LANGGRAPH_SCHEMA_RESOLVE_TIMEOUT_MS: '55000', // a busy machine
        LANGGRAPH_CONFIG: '{"typed":{"context":{"model":"large"}},"stated":{"configurable":{"a":1},"tags":["x"]}}',
    },
};

let folder;
let server;

before(async () => {
    folder = project({}, process.env.AGENT_PACKAGES);
    const write = (name, text) => fs.writeFileSync(path.join(folder, name), text);

    write('typed.mts', TYPED);
    write('stated.mts', STATED);
    write('langgraph.json', JSON.stringify(ABOUT));
    server = await new Server(['dev', '--no-reload'], { cwd: folder }).start();
});
after(async () => {
    await server?.stop();
    fs.rmSync(folder ?? '', { recursive: true, force: true });
});

async function post(where, body) {
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(server.url + where, { method: 'POST', headers, body: JSON.stringify(body) });
    return response.json();
}

test('schemas are those of the types, also of a graph inside', async () => {
    const { graph_id, state_schema, context_schema, config_schema } = await server.get('/assistants/typed/schemas');

    assert.equal(graph_id, 'typed');
    assert.deepEqual(state_schema.properties, { count: { type: 'number' }, model: { type: 'string' } });
    assert.deepEqual(context_schema.properties.model, { type: 'string', enum: ['large', 'small'] });
    assert.deepEqual(config_schema, context_schema);
    const { inside } = await server.get('/assistants/typed/subgraphs');
    assert.deepEqual(inside.state.properties.step, { type: 'string', enum: ['one', 'two'] });
    assert.deepEqual(inside.state_schema, inside.state);
});

test('a schema of the state says what it adds', async () => {
    const { state_schema, input_schema } = await server.get('/assistants/stated/schemas');

    assert.equal(state_schema.properties.messages.langgraph_type, 'messages');
    assert.equal(input_schema.properties.count.type, 'number');
});

test('LANGGRAPH_CONFIG is the config of the graph’s own assistant', async () => {
    const find = async (graph_id) => (await post('/assistants/search', { graph_id }))[0];
    const { config, context } = await find('typed');

    assert.deepEqual([config, context], [{ configurable: { model: 'large' } }, { model: 'large' }]);
    assert.deepEqual((await find('stated')).config, { configurable: { a: 1 }, tags: ['x'] });
    assert.equal((await post('/runs/wait', { assistant_id: 'typed', input: {} })).model, 'large');
    const other = await post('/runs/wait', { assistant_id: 'typed', input: {}, context: { model: 'small' } });
    assert.equal(other.model, 'small');
});
