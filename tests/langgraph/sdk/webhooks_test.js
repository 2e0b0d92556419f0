// A webhook that the stock SDK asks for, verified by the stock library (standardwebhooks).
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

import { Server } from '../../lib/server.js';
import { clientOf, VERSIONS } from './suite.js';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const { Webhook } = createRequire(path.join(process.env.PACKAGES, 'package.json'))('standardwebhooks');

const receiver = http.createServer();

function nextPost() {
    return new Promise((resolve) => {
        receiver.once('request', async (request, response) => {
            const body = Buffer.concat(await Array.fromAsync(request));

            response.end();
            resolve({ body, headers: request.headers });
        });
    });
}

test('the end of a run is posted, and its signature holds', { timeout: 60_000 }, async (t) => {
    await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    t.after(() => receiver.close());
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'spoolwire-webhooks-'));
    fs.writeFileSync(path.join(folder, 'c.yaml'), `agents: {brief: {command: ["true"]}}\nwebhook_secrets: [${SECRET}]\n`);
    const words = ['--config', 'c.yaml', '--data', 'x.db', '--webhook-allow', '*', '--webhook-private', '127.0.0.1'];
    const server = await new Server(['serve', ...words], { cwd: folder }).start();
    t.after(async () => {
        await server.stop();
        fs.rmSync(folder, { recursive: true });
    });
    const url = `http://127.0.0.1:${receiver.address().port}/hook`;

    for (const version of VERSIONS) {
        const client = await clientOf(version, server);
        const { thread_id } = await client.threads.create();
        const posted = nextPost();
        const run = await client.runs.create(thread_id, 'brief', { input: {}, webhook: url });
        const { body, headers } = await posted;
        const said = new Webhook(SECRET).verify(body.toString(), headers);

        assert.equal(headers['webhook-id'], run.run_id);
        assert.deepEqual([said.run_id, said.thread_id, said.status], [run.run_id, thread_id, 'success']);
        assert.throws(() => new Webhook(SECRET).verify(`${body} `, headers), { name: 'WebhookVerificationError' });
        assert.throws(() => new Webhook(SECRET).verify(body.toString(), { ...headers, 'webhook-id': 'other' }));
    }
});
