// Workers that engines start: one job and exit, silent jobs that are cancelled, going down.
import assert from 'node:assert/strict';
import fs from 'node:fs';
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
    const agents = ['counts', 'steps', 'kept', 'used'].map((a) => `  ${a}: {pull: true, lease: 60s, attempts: 1}\n`);
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
const begun = (id) => until(`${id} is in its second step`, () =>
    fs.existsSync(path.join(folder, 'notes')) && fs.readFileSync(path.join(folder, 'notes'), 'utf8').includes(`${id} second`));

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

test('a silent job hears a cancel before its next heartbeat is due', async () => {
    const worker = run('steps=./graphs.mjs:steps');
    const id = await job('steps');

    await begun(id);
    const begin = Date.now();
    await cancel(id, server);
    await until('it is cancelled', async () => (await state(id)) === 'cancelled');
    assert.ok(Date.now() - begin < 12_000, 'its heartbeats come every 15 s');
    await kill(worker);
});

for (const [how, agent, want] of [['return', 'kept', 'queued'], ['lose', 'used', 'failed']])
    test(`a worker that goes down: ${how}`, async () => {
        const worker = run('--on-stop', how, `${agent}=./graphs.mjs:steps`);
        const id = await job(agent);

        await begun(id);
        worker.kill('SIGTERM');
        await until(`it is ${want}`, async () => (await state(id)) === want);
        assert.equal(await ended(worker), 0);
    });

test('onStop must be known', () => {
    assert.throws(() => new Worker({}, { onStop: 'never' }), /onStop must be one of/);
});
