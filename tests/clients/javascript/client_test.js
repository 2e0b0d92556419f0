// The client: what it reads is what is stored, whatever happens to its connections.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import { connect, createServer } from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answer, cancel, SpoolwireError, submit, subscribe } from '../../../clients/typescript/src/index.js';
import { SseParser } from '../../../clients/typescript/src/sse.js';
import { project, Server, until } from '../../lib/server.js';

let server;
let folder;

before(async () => {
    folder = project();
    server = await new Server(['serve', '--hosts', '*', '--data', path.join(folder, 'x.db')]).start();
});
after(async () => {
    await server?.stop();
    fs.rmSync(folder ?? '', { recursive: true, force: true });
});

const places = (events) => events.filter(({ id }) => id !== undefined).map(({ id }) => id);

// A proxy that ends every connection hard after so many bytes of the answer, or does so without a word.
async function cutting(port, bytes, end = (client) => client.end(() => client.resetAndDestroy())) {
    const proxy = createServer((client) => {
        const upstream = connect(port, '127.0.0.1');
        let n = 0;

        client.on('error', () => {}).pipe(upstream);
        upstream.on('error', () => {}).on('data', (data) => {
            n += data.length;
            client.write(data.subarray(0, Math.max(0, data.length - Math.max(0, n - bytes))));
            if (n >= bytes) end(client);
        });
        upstream.on('end', () => client.end());
        client.on('close', () => upstream.destroy());
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    return proxy;
}

test('an event of any size and in any pieces is parsed as the standard says', () => {
    const text = '\ufeff: hello\r\nid: 7\revent: x\ndata: a\r\ndata:b\n\nretry: 20\ndata\n\nid: 9\n\ndata: c\n\n';
    const want = [
        { id: '7', event: 'x', data: 'a\nb' },
        { id: undefined, event: 'message', data: '' },
        { id: undefined, event: 'message', data: 'c' },
    ];

    for (let size = 1; size < text.length; size += 1) {
        const parser = new SseParser();
        const got = [];
        for (let at = 1; at < text.length; at += size) got.push(...parser.feed(text.slice(at, at + size)));
        assert.deepEqual(got, want, `in pieces of ${size}`);
        assert.equal(parser.retry, 20);
    }
});

test('a job is handed in, read to its end, and read again from a place', async () => {
    const { job_id } = await submit('demo', { speed: 50, ask: false }, server);
    const all = await Array.fromAsync(subscribe(job_id, { ...server, dialect: 'agent' }));

    assert.equal(all.at(-1).event, 'job.done');
    assert.ok(all.length > 20);
    const rest = await Array.fromAsync(subscribe(job_id, { ...server, dialect: 'agent', after: all[9].id }));
    assert.deepEqual(rest, all.slice(10));
});

test('connections that are cut again and again lose nothing and double nothing', async () => {
    const { job_id } = await submit('demo', { speed: 50, ask: false }, server);
    const proxy = await cutting(server.port, 3000);
    const url = `http://127.0.0.1:${proxy.address().port}`;
    const got = await Array.fromAsync(subscribe(job_id, { url, dialect: 'agent' })).finally(() => proxy.close());
    const want = await Array.fromAsync(subscribe(job_id, { ...server, dialect: 'agent' }));

    assert.deepEqual(got, want);
    assert.equal(new Set(places(got)).size, places(got).length);
});

test('a connection that has died without a word is given up', async () => {
    const { job_id } = await submit('demo', { speed: 50, ask: false }, server);
    let n = 0;
    const proxy = await cutting(server.port, 3000, () => (n += 1));
    const url = `http://127.0.0.1:${proxy.address().port}`;
    const got = await Array.fromAsync(subscribe(job_id, { url, dialect: 'agent', silence: 200 })).finally(() => proxy.close());

    assert.ok(n > 1);
    assert.deepEqual(got, await Array.fromAsync(subscribe(job_id, { ...server, dialect: 'agent' })));
});

test('a server that is killed in mid-run is waited for', async () => {
    const { job_id } = await submit('demo', { speed: 5, ask: false }, server);
    const got = [];
    let restarted;

    for await (const event of subscribe(job_id, { ...server, dialect: 'agent' })) {
        got.push(event);
        if (got.length === 10) restarted = server.restart();
    }
    await restarted;
    assert.deepEqual(got, await Array.fromAsync(subscribe(job_id, { ...server, dialect: 'agent' })));
});

test('a question is answered, a job is cancelled', async () => {
    const { job_id } = await submit('demo', { speed: 50, ask_timeout: 'never' }, server);
    let last;

    for await (const { event } of subscribe(job_id, server)) {
        if (event === 'graph.interrupt') await answer(job_id, { value: 'staging' }, server);
        last = event;
    }
    assert.equal(last, 'job.done');
    const other = await submit('demo', { speed: 1 }, server);
    await cancel(other.job_id, server);
    const events = await Array.fromAsync(subscribe(other.job_id, server));
    assert.equal(events.at(-1).data.status, 'cancelled');
});

test('whoever aborts, or leaves the loop, is rid of it', async () => {
    const { job_id } = await submit('demo', { speed: 1 }, server);
    const stop = new AbortController();
    const streams = async () => (await (await fetch(`${server.url}/metrics`)).text()).match(/^spoolwire_streams(?:\{[^}]*\})? (\d+)/m);
    let n = 0;

    for await (const _ of subscribe(job_id, { ...server, signal: stop.signal })) if (++n === 3) stop.abort();
    assert.equal(n, 3);
    for await (const _ of subscribe(job_id, server)) break;
    if (await streams()) await until('nobody reads', async () => Number((await streams())[1]) === 0);
    await cancel(job_id, server);
});

test('what the server refuses is an error with its words', async () => {
    const refused = (promise, status, words) =>
        assert.rejects(promise, (e) => e instanceof SpoolwireError && e.status === status && words.test(e.message));

    await refused(Array.fromAsync(subscribe('no-such-job', server)), 404, /not found/i);
    await refused(submit('nobody', {}, server), 400, /nobody/);
    await refused(answer('no-such-job', { value: 1 }, server), 404, /./);
});
