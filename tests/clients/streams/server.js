// The least LangGraph server that a stock client accepts: one run, made by the filter.
//
//   POST /threads/t1/runs/stream        starts it
//   GET  /threads/t1/runs/job-1/stream  goes on after the Last-Event-ID
//
// With `cuts` the connection breaks: the n-th response ends hard after cuts[n] bytes.  A client
// then asks again, at the path in the Location header.
import { once } from 'node:events';
import { createServer } from 'node:http';

import { translate } from './filter.js';

const RUN = '/threads/t1/runs/job-1';

class RunServer {
    methods = []; // of the requests so far

    constructor(input, options, cuts) {
        this.input = input;
        this.options = ['--to', 'messages', ...options];
        this.cuts = cuts;
        this.http = createServer((request, response) => this.#answer(request, response));
        this.http.keepAliveTimeout = 0; // or it may go as the next request comes
    }

    get url() {
        return `http://127.0.0.1:${this.http.address().port}`;
    }

    async #answer(request, response) {
        const after = request.headers['last-event-id'];
        const cut = this.cuts[this.methods.length];

        this.methods.push(request.method);
        const bytes = await translate(
            this.input,
            ...this.options,
            ...(after ? ['--after', after] : []),
        );
        response.writeHead(200, {
            'Content-Type': 'text/event-stream',
            'Content-Location': RUN,
            Location: `${RUN}/stream`,
        });
        response.flushHeaders();
        if (cut === undefined) response.end(bytes);
        else response.write(bytes.subarray(0, cut), () => response.socket.destroy());
    }
}

// Calls `use` with a server that listens, and ends it afterwards.
export async function serving({ input, options = [], cuts = [] }, use) {
    const server = new RunServer(input, options, cuts);

    server.http.listen(0, '127.0.0.1');
    await once(server.http, 'listening');
    try {
        return await use(server);
    } finally {
        server.http.closeAllConnections();
        server.http.close();
        await once(server.http, 'close');
    }
}

export const client = (sdk, server) =>
    new sdk.Client({ apiUrl: server.url, apiKey: null, callerOptions: { maxRetries: 0 } });

// What a program sees that runs `for await (const part of client.runs.stream(…))`.
export const streamed = (sdk, server, payload = {}) =>
    Array.fromAsync(client(sdk, server).runs.stream('t1', 'agent', { input: {}, ...payload }));
