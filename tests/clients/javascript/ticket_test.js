// Workers that engines start: one job and exit, silent jobs that are cancelled, going down.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Worker } from '../../../clients/typescript/src/node/worker.js';
import { cancel, submit } from '../../../clients/typescript/src/index.js';
import { kill, project, Server, start, until } from '../../lib/server.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const RUN = path.join(HERE, '../../../clients/typescript/bin/spoolwire-run.js');

let folder;
let server;

before(async () => {
    folder = project({ 'graphs.mjs': path.join(HERE, 'graphs.mjs') });
    const agents = ['counts', 'silent', 'deaf', 'kept', 'used', 'late', 'done', 'lost'].map((a) => `  ${a}: {pull: true, lease: 60s, attempts: 1}\n`);
    fs.writeFileSync(path.join(folder, 'x.yaml'), `demo: false\nagents:\n${agents.join('')}`);
    server = await new Server(['serve', '--config', 'x.yaml', '--data', 'x.db'], { cwd: folder }).start();
});
after(async () => {
    await server?.stop();
    fs.rmSync(folder ?? '', { recursive: true, force: true });
});

const run = (...words) => start(process.execPath, [RUN, '--pull', ...words], { cwd: folder, env: { SPOOLWIRE_URL: server.url } });
const ended = (child) => until('it has exited', () => child.exitCode !== null).then(() => child.exitCode);
const job = async (agent, input = {}) => (await submit(agent, input, server)).job_id;
const state = async (id) => (await server.get(`/v1/jobs/${id}`)).state;
const notes = () => (fs.existsSync(path.join(folder, 'notes')) ? fs.readFileSync(path.join(folder, 'notes'), 'utf8') : '');
const begun = (id) => until(`${id} is in its second step`, () => notes().includes(`${id} second`));

test('one job, and exit statuses that an engine understands', async () => {
    assert.equal(await ended(run('--once', 'counts=./graphs.mjs:counts')), 75);
    const [first, second] = [await job('counts'), await job('counts')];
    const broken = await ended(run('--once', 'counts=./graphs.mjs:nothing'));
    assert.ok(broken !== 0 && broken !== 75, `${broken}`);
    assert.equal(await state(first), 'queued', 'no job is used up');
    assert.equal(await ended(run('--once', 'counts=./graphs.mjs:counts')), 0);
    assert.equal(await state(first), 'succeeded');
    assert.equal(await state(second), 'queued');
    assert.equal(await ended(run('--once', '--wait', '30', 'counts=./graphs.mjs:counts')), 0);
});

for (const agent of ['silent', 'deaf'])
    test(`a silent job hears a cancel before its next heartbeat is due: ${agent}`, async () => {
        const worker = run(`${agent}=./graphs.mjs:${agent}`);
        const id = await job(agent);

        await begun(id);
        const begin = Date.now();
        await cancel(id, server);
        await until('it is cancelled', async () => (await state(id)) === 'cancelled');
        assert.ok(Date.now() - begin < 12_000, 'its heartbeats come every 15 s');
        assert.equal(notes().includes(`${id} aborted`), agent === 'silent');
        await kill(worker);
    });

// What SIGTERM makes of a job that has no other attempt.
for (const [agent, flags, want] of [
    ['kept', ['--on-stop', 'return'], 'queued'],
    ['used', ['--on-stop', 'lose'], 'failed'],
    ['late', ['--grace', '1'], 'queued'],
    ['done', [], 'succeeded'],
])
    test(`a worker that goes down: ${flags.join(' ') || 'the job ends within the grace'}`, async () => {
        const worker = run(...flags, `${agent}=./graphs.mjs:steps`);
        const id = await job(agent);

        await begun(id);
        worker.kill('SIGTERM');
        if (want === 'succeeded') fs.writeFileSync(path.join(folder, 'go'), '');
        await until(`it is ${want}`, async () => (await state(id)) === want);
        assert.equal(await ended(worker), 0);
        fs.rmSync(path.join(folder, 'go'), { force: true });
    });

test('a job that is leased to a worker while it stops is requeued, and nobody else can use the lease', async () => {
    const asked = [];
    const refusals = [];
    const steal = async (path) => {
        const answer = await fetch(server.url + path, { method: 'POST' });
        refusals.push([answer.status, (await answer.json()).detail.includes('executor')]);
    };
    // Stands between both, and keeps the first lease to itself.
    const between = http.createServer((request, response) => {
        const parts = [];
        request.on('data', (part) => parts.push(part));
        request.on('end', async () => {
            const body = Buffer.concat(parts).toString();
            const answer = await fetch(server.url + request.url, { method: request.method, body: body || undefined });
            const text = await answer.text();
            asked.push(request.url.split('?')[0].split('/').at(-1));
            if (asked.length === 1) {
                const { job, lease } = JSON.parse(text);
                for (const more of ['', '&executor=another']) await steal(`/v1/worker/jobs/${job}/heartbeat?lease=${lease}${more}`);
                worker.stop();
            } else response.writeHead(answer.status).end(text);
        });
    });
    await new Promise((listens) => between.listen(0, '127.0.0.1', listens));
    const worker = new Worker({ lost: null }, { url: `http://127.0.0.1:${between.address().port}` });
    const id = await job('lost');

    await worker.run();
    between.closeAllConnections();
    between.close();
    assert.deepEqual(asked, ['lease', 'lease', 'return']);
    assert.deepEqual(refusals, [[409, true], [409, true]]);
    assert.equal(await state(id), 'queued');
});

test('onStop must be known', () => {
    assert.throws(() => new Worker({}, { onStop: 'never' }), /onStop must be one of/);
});
