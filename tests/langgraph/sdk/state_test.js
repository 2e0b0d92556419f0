// States, histories, assistants and the store through the stock SDKs.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { until } from '../../lib/server.js';
import { clientOf, collect, end, INPUT, QUESTION, serve, VERSIONS } from './suite.js';

let server;
before(async () => {
    server = await serve();
});
after(() => end(server));

const AGENT = 'fe096781-5601-53d2-b2f6-0d3403f7e9ca'; // as LangGraph's own server numbers it

for (const version of VERSIONS) {
    const asked = async () => {
        const client = await clientOf(version, server);
        const thread = (await client.threads.create()).thread_id;
        await client.runs.wait(thread, 'agent', { input: INPUT });
        return { client, thread };
    };

    test(`${version}: the state of a thread, at its question and behind it`, async () => {
        const { client, thread } = await asked();
        const state = await client.threads.getState(thread);

        assert.deepEqual(state.next, ['review']);
        assert.equal(state.values.messages.length, 4);
        assert.deepEqual(state.tasks.map((t) => [t.name, t.interrupts.map((i) => i.value)]), [['review', [QUESTION]]]);
        assert.deepEqual([state.metadata.source, state.metadata.step], ['loop', 3]);
        assert.equal(state.checkpoint.thread_id, thread);
        assert.ok(state.parent_checkpoint.checkpoint_id < state.checkpoint.checkpoint_id);
        await client.runs.wait(thread, 'agent', { command: { resume: 'yes' } });
        const last = await client.threads.getState(thread);
        assert.deepEqual([last.next, last.tasks, last.values.approved], [[], [], 'yes']);
        const then = await client.threads.getState(thread, state.checkpoint.checkpoint_id);
        assert.deepEqual([then.next, then.values], [state.next, state.values]);
        const same = await client.threads.getState(thread, state.checkpoint);
        assert.deepEqual(same.values, state.values);
    });

    test(`${version}: the history of a thread, newest first`, async () => {
        const { client, thread } = await asked();
        const history = await client.threads.getHistory(thread);

        assert.deepEqual(history.map((s) => s.metadata.step), [3, 2, 1, 0, -1]);
        assert.deepEqual(history.map((s) => s.next), [['review'], ['researcher'], ['tools'], ['agent'], ['__start__']]);
        for (const [i, state] of history.slice(0, -1).entries())
            assert.equal(state.parent_checkpoint.checkpoint_id, history[i + 1].checkpoint.checkpoint_id);
        const two = await client.threads.getHistory(thread, { limit: 2 });
        assert.deepEqual(two.map((s) => s.metadata.step), [3, 2]);
        const older = await client.threads.getHistory(thread, { before: { configurable: { checkpoint_id: two[1].checkpoint.checkpoint_id } } });
        assert.deepEqual(older.map((s) => s.metadata.step), [1, 0, -1]);
    });

    test(`${version}: a state is changed, and a run goes on from there`, async () => {
        const { client, thread } = await asked();
        const { checkpoint } = await client.threads.updateState(thread, { values: { approved: 'by hand' }, asNode: 'review' });
        const state = await client.threads.getState(thread);

        assert.equal(state.checkpoint.checkpoint_id, checkpoint.checkpoint_id);
        assert.deepEqual([state.values.approved, state.next, state.metadata.source], ['by hand', ['final'], 'update']);
        const values = await client.runs.wait(thread, 'agent', { input: null });
        assert.equal(values.messages.at(-1).content, 'Ok!');
    });

    test(`${version}: a thread is made with a past, and a run goes on from there`, async () => {
        const client = await clientOf(version, server);
        const updates = (values, asNode) => ({ updates: [{ values, asNode }] });
        const made = await client.threads.create({
            graphId: 'agent',
            supersteps: [
                updates(INPUT, '__input__'),
                updates(INPUT, '__start__'),
                updates({}, 'researcher'),
                updates({ approved: 'long ago' }, 'review'),
            ],
        });

        assert.deepEqual([made.values.messages.length, made.values.approved], [1, 'long ago']);
        const history = await client.threads.getHistory(made.thread_id);
        assert.deepEqual(history.map((s) => s.next), [['final'], ['review'], ['agent'], ['__start__']]);
        const values = await client.runs.wait(made.thread_id, 'agent', { input: null });
        assert.deepEqual([values.messages.at(-1).content, values.approved], ['Ok!', 'long ago']);
        await assert.rejects(client.threads.create({ graphId: 'agent', supersteps: [updates({}, 'nobody')] }), /nobody/);
        const more = { threadId: made.thread_id, ifExists: 'do_nothing', graphId: 'agent', supersteps: [updates({ approved: 'again' }, 'review')] };
        const changed = await client.threads.create(more);
        assert.deepEqual([changed.values.approved, changed.values.messages.length], ['again', 2]);
    });

    test(`${version}: a run forks from an older checkpoint`, async () => {
        const { client, thread } = await asked();
        const before = (await client.threads.getHistory(thread)).find((s) => s.next[0] === 'tools');
        const { checkpoint } = before;

        for (const form of [{ checkpoint }, { checkpointId: checkpoint.checkpoint_id }]) {
            const values = await client.runs.wait(thread, 'agent', { input: null, ...form });
            assert.deepEqual(values.__interrupt__.map((i) => i.value), [QUESTION]);
            const state = await client.threads.getState(thread);
            assert.equal(state.values.messages.length, 4);
        }
        const history = await client.threads.getHistory(thread, { limit: 100 });
        const forks = history.filter((s) => s.parent_checkpoint?.checkpoint_id === checkpoint.checkpoint_id);
        assert.equal(forks.length, 3);
    });

    test(`${version}: a run stops at a breakpoint, and another goes on from there`, async () => {
        const client = await clientOf(version, server);
        const thread = (await client.threads.create()).thread_id;

        const parts = await collect(
            client.runs.stream(thread, 'agent', { input: INPUT, interruptBefore: ['tools'], streamMode: ['values', 'updates'] }),
        );
        assert.deepEqual(parts.slice(-2).map((p) => [p.event, p.data]), [['updates', { __interrupt__: [] }], ['values', { __interrupt__: [] }]]);
        assert.deepEqual((await client.threads.getState(thread)).next, ['tools']);
        assert.equal((await client.threads.get(thread)).values.messages.length, 2);
        assert.equal((await client.threads.get(thread)).status, 'interrupted');
        const values = await client.runs.wait(thread, 'agent', { input: null });
        assert.deepEqual(values.__interrupt__.map((i) => i.value), [QUESTION]);
    });

    test(`${version}: a state is not changed while a run is going on`, async () => {
        const client = await clientOf(version, server);
        const thread = (await client.threads.create()).thread_id;
        const run = await client.runs.create(thread, 'endless', { input: INPUT });

        await until('it runs', async () => (await client.runs.get(thread, run.run_id)).status === 'running');
        await assert.rejects(client.threads.updateState(thread, { values: {} }), /409/);
        await client.runs.cancel(thread, run.run_id, true);
    });

    test(`${version}: every graph has an assistant`, async () => {
        const client = await clientOf(version, server);
        const found = await client.assistants.search({ graphId: 'agent' });

        assert.ok(found.some((a) => a.assistant_id === AGENT && a.metadata.created_by === 'system'));
        assert.equal((await client.assistants.get('agent')).assistant_id, AGENT);
        assert.equal(await client.assistants.count({ graphId: 'agent' }), 1);
    });

    test(`${version}: other assistants are made of a graph, and have versions`, async () => {
        const client = await clientOf(version, server);
        const made = await client.assistants.create({ graphId: 'talks', name: `mine ${version}`, metadata: { mark: version } });
        assert.deepEqual((await client.assistants.search({ metadata: { mark: version } })).map((a) => a.assistant_id), [made.assistant_id]);
        assert.equal(await client.assistants.count({ metadata: { mark: version } }), 1);
        const changed = await client.assistants.update(made.assistant_id, { metadata: { more: 1 } });
        assert.equal(changed.version, made.version + 1);
        assert.equal((await client.assistants.getVersions(made.assistant_id)).length, 2);
        assert.equal((await client.assistants.setLatest(made.assistant_id, 1)).version, 1);
        const { thread_id } = await client.threads.create();
        const values = await client.runs.wait(thread_id, made.assistant_id, { input: INPUT });
        assert.match(values.messages.at(-1).content, /^word0 word1 /);
        await client.assistants.delete(made.assistant_id);
        await assert.rejects(client.assistants.get(made.assistant_id), /404/);
    });

    test(`${version}: a graph is drawn, with its schemas and subgraphs`, async () => {
        const client = await clientOf(version, server);
        const { nodes, edges } = await client.assistants.getGraph('agent');

        assert.deepEqual(nodes.map((n) => n.id), ['__start__', 'agent', 'tools', 'researcher', 'review', 'final', '__end__']);
        assert.ok(edges.some((e) => e.source === 'tools' && e.target === 'researcher'));
        const schemas = await client.assistants.getSchemas('agent');
        assert.equal(schemas.graph_id, 'agent');
        assert.deepEqual(Object.keys(schemas.state_schema.properties).sort(), ['approved', 'messages']);
        assert.deepEqual(Object.keys(await client.assistants.getSubgraphs('agent')), ['researcher']);
        assert.ok((await client.assistants.getGraph('python')).nodes.some((n) => n.id === 'approve'));
    });

    test(`${version}: what a subgraph asks is in its state`, async () => {
        const client = await clientOf(version, server);
        const { thread_id } = await client.threads.create({ metadata: { whose: 'ours' } });

        await client.runs.wait(thread_id, 'below', { input: INPUT });
        const above = await client.threads.getState(thread_id, undefined, { subgraphs: true });
        const [task] = above.tasks;
        assert.deepEqual(task.interrupts.map((i) => i.value), ['how deep?']);
        assert.deepEqual(task.state.next, ['ask']);
        assert.deepEqual(task.state.interrupts, task.interrupts);
        assert.deepEqual(task.state.tasks[0].interrupts, task.interrupts);
        assert.equal(task.state.checkpoint.checkpoint_ns, `sub:${task.id}`);
        const plain = await client.threads.getState(thread_id);
        assert.equal(plain.tasks[0].checkpoint.checkpoint_ns, `sub:${task.id}`);
        for (const state of await client.threads.getHistory(thread_id)) assert.equal(state.metadata.whose, 'ours');
    });

    // docs/langgraph-compat.md lists the requests of Agent Chat UI and deep-agents-ui.
    test(`${version}: what chat pages ask for`, async () => {
        const client = await clientOf(version, server);
        const headers = { origin: 'https://chat.example', 'x-auth-scheme': 'langsmith' };
        const preflight = await fetch(`${server.url}/threads/search`, {
            method: 'OPTIONS',
            headers: { ...headers, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type,x-auth-scheme' },
        });
        const [own] = (await client.assistants.search({ graphId: 'python', limit: 100 })).filter((a) => a.metadata.created_by === 'system');
        const { thread_id } = await client.threads.create();
        const ids = async (search) => (await client.threads.search({ limit: 20, ...search })).map((t) => t.thread_id);

        assert.match(preflight.headers.get('access-control-allow-headers'), /x-auth-scheme/);
        assert.equal((await fetch(`${server.url}/info`, { headers })).status, 200);
        assert.equal((await client.assistants.get(own.assistant_id)).graph_id, 'python');
        await collect(client.runs.stream(thread_id, own.assistant_id, {
            input: { messages: [{ id: 'm1', type: 'human', content: 'send it' }] },
            config: { ...own.config, recursion_limit: 100 },
        }));
        for (const search of [
            { metadata: { graph_id: 'python' } }, { metadata: { assistant_id: own.assistant_id } },
            { sortBy: 'updated_at', sortOrder: 'desc', status: 'interrupted', offset: 0 },
        ])
            assert.ok((await ids(search)).includes(thread_id), JSON.stringify(search));
        // "Mark as resolved"; LangGraph runs the task that waits once more, so it asks again.
        const parts = await collect(client.runs.stream(thread_id, own.assistant_id, { input: null, command: { goto: '__end__', update: null } }));
        assert.deepEqual(parts.filter((p) => p.event === 'error'), []);
        await client.threads.updateState(thread_id, { values: { messages: [{ id: 'm2', type: 'ai', content: 'by hand' }] } });
        const [newest] = await client.threads.getHistory(thread_id, { limit: 10 });
        assert.deepEqual(newest.values.messages.map((m) => m.content), ['send it', 'by hand']);
    });

    test(`${version}: items of the store`, async () => {
        const client = await clientOf(version, server);
        const place = ['tests', version.replaceAll('.', '-')];

        await client.store.putItem(place, 'a', { n: 1 });
        await client.store.putItem(place, 'b', { n: 2 });
        assert.deepEqual((await client.store.getItem(place, 'a')).value, { n: 1 });
        const found = await client.store.searchItems(place, { filter: { n: 2 } });
        assert.deepEqual(found.items.map((i) => i.key), ['b']);
        assert.deepEqual((await client.store.listNamespaces({ prefix: place })).namespaces, [place]);
        await client.store.deleteItem(place, 'a');
        assert.equal(await client.store.getItem(place, 'a'), null);
    });

    test(`${version}: crons, for a thread and without`, async () => {
        const client = await clientOf(version, server);
        const { thread_id: thread } = await client.threads.create();
        const yearly = { schedule: '0 0 1 1 *', input: { messages: [] }, metadata: { version } };
        const one = await client.crons.create('agent', yearly);
        const two = await client.crons.createForThread(thread, 'agent', yearly);
        const found = await client.crons.search({ limit: 100 });

        for (const { cron_id: id } of [one, two]) assert.ok(found.some((c) => c.cron_id === id));
        assert.deepEqual((await client.crons.search({ threadId: thread })).map((c) => c.cron_id), [two.cron_id]);
        if (client.crons.count) assert.equal(await client.crons.count({ threadId: thread }), 1);
        if (client.crons.update) assert.equal((await client.crons.update(one.cron_id, { enabled: false })).enabled, false);
        await client.crons.delete(one.cron_id);
        await client.threads.delete(thread);
        assert.ok(!(await client.crons.search({ limit: 100 })).some((c) => [one.cron_id, two.cron_id].includes(c.cron_id)));
    });

    test(`${version}: a cron runs the graph at its ticks`, async () => {
        const client = await clientOf(version, server);
        const { thread_id: thread } = await client.threads.create();
        const cron = await client.crons.createForThread(thread, 'agent', {
            schedule: '* * * * * *',
            input: { messages: [{ role: 'user', content: 'hello' }] },
            multitaskStrategy: 'reject',
        });

        await until('a run of the cron has ended', async () =>
            (await client.runs.list(thread)).some((run) => ['success', 'interrupted'].includes(run.status)));
        await client.crons.delete(cron.cron_id);
    });
}
