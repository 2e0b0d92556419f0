// Ten seconds without a server: its worker continues, and keeps its events.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { submit, subscribe } from '../../../clients/typescript/src/index.js';
import { kill, project, Server, start, until } from '../../lib/server.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const RUN = path.join(HERE, '../../../clients/typescript/bin/spoolwire-run.js');
const AWAY_MS = 10_000;

let folder;
let server;
let worker;

before(async () => {
    folder = project({ 'graphs.mjs': path.join(HERE, 'graphs.mjs') });
    fs.writeFileSync(path.join(folder, 'x.yaml'), 'demo: false\nagents:\n  counts: {pull: true}\n');
    server = await new Server(['serve', '--config', 'x.yaml', '--data', 'x.db'], { cwd: folder }).start();
    worker = start(process.execPath, [RUN, '--pull', 'counts=./graphs.mjs:goesOn'], {
        cwd: folder,
        env: { SPOOLWIRE_URL: server.url },
    });
});
after(async () => {
    await kill(worker);
    await server?.stop();
    fs.rmSync(folder ?? '', { recursive: true, force: true });
});

const said = () => Number(fs.readFileSync(path.join(folder, 'count'), 'utf8'));

test('the server is away for ten seconds: nothing is lost, and nothing comes twice', async () => {
    const { job_id: id } = await submit('counts', {}, server);
    const stored = async () => (await server.get(`/v1/jobs/${id}`)).events;

    await until('events are stored', async () => (await stored()) > 20);
    await server.kill();
    const before = said();
    await pause(AWAY_MS);
    await until('it goes on meanwhile', () => said() > before + 100);
    await server.start();
    const all = said();
    await until('what waited is stored', async () => (await stored()) > all);
    fs.writeFileSync(path.join(folder, 'enough'), '');

    const events = await Array.fromAsync(subscribe(id, { ...server, dialect: 'messages', modes: ['custom', 'values'] }));
    const [n] = events.filter((e) => e.event === 'values').at(-1).data.done;
    const { state, attempt } = await server.get(`/v1/jobs/${id}`);

    assert.deepEqual([state, attempt], ['succeeded', 1]);
    assert.deepEqual(
        events.filter((e) => e.event === 'custom').map((e) => e.data),
        Array.from({ length: n }, (_, count) => ({ count })),
    );
});
