// What `spoolwire dev` makes of a project: the schemas of its types, and the members of its langgraph.json.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { project, Server, until } from '../../lib/server.js';

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
const UI = `
    import './ui.css';
    const Weather = ({ city }: { city: string }) => <div>Weather for {city}</div>;
    export default { weather: Weather };`;
// Texts of the same kind have the same direction.
const EMBED = `
    const KINDS = [/cat|lion|feline/, /car|engine|motor/, /./];
    export const embed = async (texts: string[]) => texts.map((t) => KINDS.map((k) => (k.test(t) ? 1 : 0)));`;
const ABOUT = {
    store: { index: { embed: './embed.mts:embed', dims: 3, fields: ['text'] }, ttl: { default_ttl: 60 } },
    checkpointer: { ttl: { strategy: 'delete', default_ttl: 43200 } },
    ui: { 'my-ui': './ui.tsx' },
    ui_config: { shared: ['shared-things'] },
    node_version: '20',
    image_distro: 'wolfi',
    frobnicate: true,
    dependencies: ['.', 'langchain_openai'],
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
    write('ui.tsx', UI);
    write('embed.mts', EMBED);
    write('ui.css', '.weather { color: red; }');
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
    // On a busy machine the first answer may come before the types are read.
    const { graph_id, state_schema, context_schema, config_schema } = await until('types are read', async () => {
        const found = await server.get('/assistants/typed/schemas');
        return found.state_schema.properties.count.type && found;
    });

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

test('components are bundled, and pages load them', async () => {
    const ask = (name, body, headers = {}) =>
        fetch(`${server.url}/ui/${name}`, {
            method: 'POST',
            headers: { 'Content-Type': 'application/json', ...headers },
            body: JSON.stringify(body),
        });
    const html = await until('it is bundled', async () => {
        const said = await ask('my-ui', { name: "it's" });
        const text = await said.text();
        return /script/.test(text) && text;
    });
    const { host } = new URL(server.url);

    assert.equal(
        html,
        `<link rel="stylesheet" href="http://${host}/ui/my-ui/entrypoint.css" />\n` +
            `<script src="http://${host}/ui/my-ui/entrypoint.js" onload='__LGUI_my_ui.render("it&#39;s", "{{shadowRootId}}")'></script>`,
    );
    const script = await fetch(`${server.url}/ui/my-ui/entrypoint.js`);
    assert.match(script.headers.get('content-type'), /^text\/javascript/);
    assert.match(await script.text(), /LGUI_REQUIRE/);
    const styles = await fetch(`${server.url}/ui/my-ui/entrypoint.css`);
    assert.match(styles.headers.get('content-type'), /^text\/css/);
    assert.match(await styles.text(), /color: red/);
    assert.equal((await ask('other', { name: 'weather' })).status, 404);
    assert.equal((await ask('my-ui', {})).status, 422);
    for (const away of ['my-ui/none.js', 'my-ui/..%2f..%2fdev.yaml', '..%2f/dev.yaml', 'my-ui/.hidden'])
        assert.ok([400, 404].includes((await fetch(`${server.url}/ui/${away}`)).status), away);
});

test('what is not honoured is said once', () => {
    const said = (about) => server.child.text.split(about).length - 1;

    assert.equal(said("'node_version', 'image_distro': about building images"), 1);
    assert.equal(said("'frobnicate': not known here, and ignored"), 1);
    assert.equal(said("'langchain_openai': packages of 'dependencies'"), 1);
    assert.doesNotMatch(server.child.text, /'ui'/);
});

test('items are found by what they mean', async () => {
    const put = async (key, value, more = {}) => {
        const headers = { 'Content-Type': 'application/json' };
        const body = JSON.stringify({ namespace: ['facts'], key, value, ...more });
        const response = await fetch(`${server.url}/store/items`, { method: 'PUT', headers, body });
        assert.equal(response.status, 204, await response.text());
    };
    const search = async (query, more = {}) =>
        (await post('/store/items/search', { namespace_prefix: ['facts'], query, ...more })).items;

    await put('lion', { text: 'the lion sleeps', n: 1 });
    await put('motor', { text: 'a motor runs', n: 2 });
    await put('hidden', { text: 'another cat', n: 3 }, { index: false });
    const found = await search('my cat');
    assert.deepEqual(found.map((i) => i.key), ['lion', 'motor']);
    assert.ok(found[0].score > 0.99 && Math.abs(found[1].score - 0.5) < 0.01, JSON.stringify(found));
    assert.deepEqual((await search('my cat', { filter: { n: 2 } })).map((i) => i.key), ['motor']);
    assert.deepEqual((await search('an engine', { limit: 1 })).map((i) => i.key), ['motor']);
    await put('lion', { text: 'the car stands', n: 1 }); // with other vectors now
    assert.ok((await search('my cat'))[0].score < 0.6);
    await fetch(`${server.url}/store/items`, {
        method: 'DELETE',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ namespace: ['facts'], key: 'lion' }),
    });
    assert.deepEqual((await search('my cat')).map((i) => i.key), ['motor']);
});
