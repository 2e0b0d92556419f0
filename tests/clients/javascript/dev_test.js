// `spoolwire init` and `spoolwire dev`: a project, and its graphs behind a server with one command.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { answer, submit, subscribe } from '../../../clients/typescript/src/index.js';
import { project, Server, until } from '../../lib/server.js';

const { SPOOLWIRE } = process.env;
const HERE = path.dirname(fileURLToPath(import.meta.url));
const RUN = path.join(HERE, '../../../clients/typescript/bin/spoolwire-run.js');

// In TypeScript, with a state that Zod describes; other files under the names that projects use.
const TYPED = {
    'typed.ts': `
        import { END, START, StateGraph } from '@langchain/langgraph';
        import { z } from 'zod';
        import { greet } from './words.js';
        import { mark } from './more';

        const State = z.object({ name: z.string(), greeting: z.string().optional() });

        export const graph = new StateGraph(State)
            .addNode('greets', (state: z.infer<typeof State>) => ({ greeting: greet(state.name) + mark }))
            .addEdge(START, 'greets')
            .addEdge('greets', END)
            .compile();`,
    'words.ts': 'export const greet = (name: string): string => `Hello, ${name}`;',
    'more.ts': "export const mark: string = '!';",
};
let folder;
let server;

before(async () => {
    folder = project();
    const made = spawnSync(SPOOLWIRE, ['init', '--js', folder], { encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
    fs.writeFileSync(path.join(folder, '.env'), '# keys\nexport GREETING="You\\tsaid" # so\nOTHER=\n');
    const about = JSON.parse(fs.readFileSync(path.join(folder, 'langgraph.json'), 'utf8'));
    for (const [name, text] of Object.entries(TYPED)) fs.writeFileSync(path.join(folder, name), text);
    about.graphs.typed = './typed.ts:graph';
    fs.writeFileSync(path.join(folder, 'langgraph.json'), JSON.stringify({ ...about, env: '.env' }));
    server = await new Server(['dev'], { cwd: folder }).start();
});
after(async () => {
    await server?.stop();
    fs.rmSync(folder ?? '', { recursive: true, force: true });
});

async function says(content, react = () => {}) {
    const input = { messages: [{ role: 'user', content }] };
    const { job_id } = await submit('agent', input, server);
    const tokens = [];
    let state;

    for await (const { event, data } of subscribe(job_id, { ...server, dialect: 'agent' })) {
        if (event === 'agent.token') tokens.push(data.token);
        await react(event, job_id);
    }
    for await (const { data } of subscribe(job_id, { ...server, dialect: 'messages', modes: ['values'] }))
        if (data.messages) state = data;
    return { text: tokens.join(''), last: state?.messages.at(-1).content };
}

test('the project of init answers, and says where it is', async () => {
    const { text, last } = await says('hello');

    assert.equal(text, 'You said: hello. What else?');
    assert.equal(last, text);
    assert.match(server.child.text, /agent +\.\/src\/agent\.mjs:graph/);
    assert.match(server.child.text, new RegExp(`curl -N ${server.url}/runs/stream`));
});

test('its question is answered', async () => {
    const react = (event, job) => event === 'graph.interrupt' && answer(job, { value: 'yes' }, server);
    assert.equal((await says('send it', react)).last, 'It is sent.');
});

test('a graph that is saved is the graph of the next run; one with a mistake says so', async () => {
    const file = path.join(folder, 'src/agent.mjs');
    const source = fs.readFileSync(file, 'utf8');
    const replaced = () => server.child.text.match(/"agent":"agent".*agent\.mjs has changed/g)?.length ?? 0;
    const save = async (text) => {
        const n = replaced();
        fs.writeFileSync(`${file}.new`, text);
        fs.renameSync(`${file}.new`, file); // at once: half of it would be a change of its own
        await until('it is noticed', () => replaced() > n);
    };

    await save(source.replace('`You said: ', '`${process.env.GREETING}, ${process.env.OTHER}: '));
    assert.equal((await says('hello')).text, 'You\tsaid, : hello. What else?');
    await save('this is no program');
    await until('it is said', () => /SyntaxError/.test(server.child.text));
    await save(source);
    assert.equal((await says('hello')).text, 'You said: hello. What else?');
});

test('a graph in TypeScript runs, and its schemas are those of Zod', async () => {
    const body = JSON.stringify({ assistant_id: 'typed', input: { name: 'Ann' } });
    const headers = { 'Content-Type': 'application/json' };
    const values = await fetch(`${server.url}/runs/wait`, { method: 'POST', headers, body });
    const { input_schema, state_schema } = await server.get('/assistants/typed/schemas');

    assert.deepEqual(await values.json(), { name: 'Ann', greeting: 'Hello, Ann!' });
    assert.deepEqual(input_schema.properties.name, { type: 'string' });
    assert.deepEqual(Object.keys(state_schema.properties), ['name', 'greeting']);
});

test('TypeScript that Node cannot read is said, and what to do', () => {
    const file = path.join(folder, 'enum.ts');
    fs.writeFileSync(file, 'enum A { B }\nexport const graph: unknown = A.B;');
    const { stderr } = spawnSync(process.execPath, [RUN, `${file}:graph`], { encoding: 'utf8', input: '' });
    assert.match(stderr, /enum.*npm install tsx/);
});

test('a project in Python runs as well', async () => {
    const other = path.join(folder, 'python');
    assert.equal(spawnSync(SPOOLWIRE, ['init', '--python', other]).status, 0);
    const python = await new Server(['dev'], { cwd: other }).start();
    const { job_id } = await submit('agent', { messages: [{ role: 'user', content: 'hello' }] }, python);
    const events = await Array.fromAsync(subscribe(job_id, { ...python, dialect: 'agent' }));

    await python.stop();
    const tokens = events.filter((e) => e.event === 'agent.token').map((e) => e.data.token);
    assert.equal(tokens.join(''), 'You said: hello. What else?');
});

test('a project with auth is not served open, and what is not honoured is said', async () => {
    const graphs = { typed: './typed.ts:graph' };
    const about = { graphs, auth: { path: './auth.ts:auth' }, http: { app: './app.ts:app' }, ui: { a: './a.tsx' }, webhooks: { url: { max_url_length: 9 } } };
    const write = (what) => fs.writeFileSync(path.join(folder, 'guarded.json'), JSON.stringify(what));
    const words = ['dev', '--config', 'guarded.json', '--data', 'guarded.db'];

    write(about);
    const refused = spawnSync(SPOOLWIRE, [...words, '--listen', '127.0.0.1:0'], { encoding: 'utf8', cwd: folder, timeout: 60_000 });
    assert.equal(refused.status, 3, refused.stderr);
    assert.match(refused.stderr, /'auth': .*auth\.ts does not exist/);

    write({ ...about, http: { logging_headers: {} }, ui: {} });
    const open = await new Server([...words, '--ignore-auth'], { cwd: folder }).start();
    await open.stop();
    for (const name of ['auth', 'http.logging_headers', 'webhooks.url.max_url_length'])
        assert.equal(open.child.text.match(new RegExp(`'${name}' is ignored`, 'g'))?.length, 1, name);

    write({ graphs, auth: null, http: {}, ui: {} }); // they ask for nothing
    const plain = await new Server(words, { cwd: folder }).start();
    await plain.stop();
    assert.doesNotMatch(plain.child.text, /is ignored/);
});

test('of every member of langgraph.json that is not honoured it is said once', async () => {
    const members = JSON.parse(fs.readFileSync(new URL('../../langgraph/members.json', import.meta.url)));
    const all = { graphs: { typed: './typed.ts:graph' }, store: { ttl: { color: 1 } } };
    for (const [name, value] of Object.entries({ ...members.ignored, ...members['about images'] })) {
        const words = name.split('.');
        const last = words.pop();
        words.reduce((at, word) => (at[word] ??= {}), all)[last] = value;
    }
    fs.writeFileSync(path.join(folder, 'all.json'), JSON.stringify(all));
    const server = await new Server(['dev', '--config', 'all.json', '--data', 'all.db'], { cwd: folder }).start();
    await server.stop();
    const { text } = server.child;
    for (const name of Object.keys(members.ignored)) assert.equal(text.split(`'${name}' is ignored: `).length, 2, name);
    const [images] = text.match(/.*: about building images, .*/);
    for (const name of Object.keys(members['about images'])) assert.equal(images.split(`'${name}'`).length, 2, name);
    assert.match(text, /'store\.ttl\.color': not known here, and ignored/);
    assert.equal(text.split('not known here, and ignored').length, 2);
});

test('nothing is overwritten, and what is wrong with a project is said', () => {
    const run = (...words) => spawnSync(SPOOLWIRE, words, { encoding: 'utf8', cwd: folder });
    const dev = (about) => {
        fs.writeFileSync(path.join(folder, 'other.json'), typeof about === 'string' ? about : JSON.stringify(about));
        return run('dev', '--config', 'other.json', '--listen', '127.0.0.1:0', '--data', 'other.db').stderr;
    };

    assert.match(run('init', '--js', folder).stderr, /is there already/);
    assert.match(run('init', '--js', '--python', 'x').stderr, /either --js or --python/);
    assert.match(run('dev', '--config', 'none.json').stderr, /none\.json: No such file/);
    assert.match(dev('{'), /not JSON/);
    assert.match(dev({}), /there are no 'graphs'/);
    assert.match(dev({ graphs: { a: 'agent.mjs' } }), /the graph 'a' must be a text such as/);
    assert.match(dev({ graphs: { a: 'agent.rb:graph' } }), /neither Python nor JavaScript/);
    assert.match(dev({ graphs: { a: 'a.py:g' }, env: 7 }), /'env' is neither a file nor an object/);
    assert.match(dev({ graphs: { a: 'a.py:g' }, env: 'none.env' }), /none\.env: No such file/);
    assert.match(dev({ graphs: { a: 'a.py:g' }, dependencies: ['./none'] }), /none: No such file/);
});
