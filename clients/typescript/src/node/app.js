/**
 * A project's own HTTP app, a Hono, behind the server: what it has no route for goes back to the
 * server, so that its middleware sees that, too.
 */
import http from 'node:http';
import { Readable } from 'node:stream';

import { load } from './peer.js';

const SECRET = 'x-spoolwire-companion';
const INSIDE = 'x-spoolwire-inside';
const OF_CONNECTION = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'upgrade'];

/** The server, as a function like fetch(). */
export class Server {
    /** @param {string} url @param {string} secret */
    constructor(url, secret) {
        this.secret = secret;
        if (url.startsWith('unix:')) {
            this.place = { socketPath: url.slice('unix:'.length) };
            this.host = 'localhost';
        } else {
            const { host, hostname, port, protocol } = new URL(url);
            if (protocol !== 'http:') throw new Error(`${url}: the companion reaches the server by http: or unix: only`);
            this.place = { host: hostname.replace(/^\[|\]$/g, ''), port };
            this.host = host;
        }
    }

    /**
     * @param {string} method @param {string} path with the query
     * @param {Headers} headers @param {ReadableStream | string | Uint8Array | null} body
     * @param {AbortSignal} [signal] @returns {Promise<Response>}
     */
    send(method, path, headers, body, signal) {
        const given = Object.fromEntries([...headers].filter(([name]) => !OF_CONNECTION.includes(name)));
        const whole = typeof body === 'string' ? Buffer.from(body) : body instanceof Uint8Array ? body : undefined;
        if (whole) given['content-length'] = String(whole.length);
        else if (body) given['transfer-encoding'] = 'chunked';

        return new Promise((resolve, reject) => {
            const request = http.request({ ...this.place, method, path, signal, headers: { host: this.host, ...given, [SECRET]: this.secret } }, (answer) => {
                const answered = new Headers();
                for (let i = 0; i < answer.rawHeaders.length; i += 2)
                    if (!OF_CONNECTION.includes(answer.rawHeaders[i].toLowerCase())) answered.append(answer.rawHeaders[i], answer.rawHeaders[i + 1]);
                const status = answer.statusCode ?? 502;
                const isEmpty = status === 204 || status === 304 || method === 'HEAD';
                if (isEmpty) answer.resume();
                resolve(new Response(isEmpty ? null : /** @type {any} */ (Readable.toWeb(answer)), { status, headers: answered }));
            });
            request.on('error', reject);
            if (whole || !body) request.end(whole);
            else Readable.fromWeb(/** @type {any} */ (body)).on('error', reject).pipe(request);
        });
    }

    /** For `new Client()` in the project's own code: LangGraph's SDK looks for this function. */
    bindLoopback() {
        /** @type {any} */ (globalThis)[Symbol.for('langgraph_api:fetch')] = (/** @type {any} */ url, /** @type {any} */ init) => {
            const request = new Request(url, init);
            const { pathname, search } = new URL(request.url);
            if (!request.headers.has('authorization')) request.headers.set(INSIDE, '1');
            return this.send(request.method, pathname + search, request.headers, request.body, request.signal);
        };
    }
}

/** What the path of a route begins with; "=" in front: it is just that.
 * @param {string} path */
function beginning(path) {
    const fixed = /^[^:*{]*/.exec(path)?.[0] ?? '';
    if (fixed === path) return `=${path}`;
    return fixed.startsWith('/') ? fixed : '/';
}

export class App {
    /** @param {any} outer a Hono @param {string[]} routes */
    constructor(outer, routes) {
        this.outer = outer;
        this.routes = routes;
    }

    /**
     * @param {any} app @param {string} folder the project's
     * @param {Server} server @param {import('./auth.js').Handlers | undefined} handlers
     */
    static async of(app, folder, server, handlers) {
        if (typeof app?.fetch !== 'function' || !Array.isArray(app.routes)) throw new Error('it is no app of Hono');
        const { Hono } = await load(folder, 'hono');
        const outer = new Hono();

        if (handlers)
            outer.use(async (/** @type {any} */ c, /** @type {any} */ next) => {
                const isOpen = c.req.path === '/info' || (c.req.path.startsWith('/ui') && c.req.method === 'GET');
                if (isOpen) return next();
                try {
                    const { user, permissions } = await handlers.authenticate(c.req.raw);
                    c.set('auth', { user, scopes: permissions });
                } catch (error) {
                    const { status, message, headers } = /** @type {any} */ (error);
                    if (typeof status !== 'number') throw error;
                    return new Response(message, { status, headers });
                }
                return next();
            });
        outer.route('/', app);
        outer.all('*', async (/** @type {any} */ c) => {
            const { pathname, search } = new URL(c.req.url);
            return server.send(c.req.method, pathname + search, c.req.raw.headers, await bodyOf(c.req), c.req.raw.signal);
        });
        return new App(outer, [...new Set(app.routes.map((/** @type {any} */ route) => beginning(route.path)))]);
    }

    /** @param {string} path of a Unix socket @returns {Promise<http.Server>} */
    listen(path) {
        const server = http.createServer((req, res) => {
            this.serve(req, res).catch((error) => {
                console.error(error);
                if (!res.headersSent) res.writeHead(500, { 'content-type': 'text/plain' });
                res.end(res.writableEnded ? undefined : 'Internal Server Error');
            });
        });
        server.requestTimeout = 0; // the server in front has limits of its own
        return new Promise((resolve, reject) => server.once('error', reject).listen(path, () => resolve(server)));
    }

    /** @param {http.IncomingMessage} req @param {http.ServerResponse} res */
    async serve(req, res) {
        const gone = new AbortController();
        res.on('close', () => gone.abort());
        const { method = 'GET' } = req;
        const headers = new Headers();
        for (let i = 0; i < req.rawHeaders.length; i += 2) headers.append(req.rawHeaders[i], req.rawHeaders[i + 1]);
        const hasBody = method !== 'GET' && method !== 'HEAD';
        const answer = await this.outer.fetch(
            new Request(new URL(req.url ?? '/', `http://${headers.get('host') ?? 'localhost'}`), {
                method,
                headers,
                signal: gone.signal,
                .../** @type {any} */ (hasBody ? { body: Readable.toWeb(req), duplex: 'half' } : {}),
            }),
        );

        for (const [name, value] of answer.headers) if (name !== 'set-cookie') res.setHeader(name, value);
        if (answer.headers.getSetCookie().length > 0) res.setHeader('set-cookie', answer.headers.getSetCookie());
        res.writeHead(answer.status);
        res.flushHeaders();
        if (answer.body && method !== 'HEAD')
            for await (const chunk of answer.body)
                if (!res.write(chunk)) await new Promise((resolve) => { res.once('drain', resolve); res.once('close', resolve); });
        res.end();
    }
}

/** The body as the app's middleware leaves it: it may have read and changed it.
 * @param {any} req a HonoRequest */
async function bodyOf(req) {
    const read = Object.keys(req.bodyCache ?? {});

    if (read.length === 0) return req.raw.bodyUsed ? null : req.raw.body;
    if (!read.includes('json') && !read.includes('text')) return new Uint8Array(await req.arrayBuffer());
    return read.includes('json') ? JSON.stringify(await req.json()) : req.text();
}
