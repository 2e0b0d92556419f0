/**
 * Requests of a worker to its server, over TCP or a Unix socket, on connections that are kept.
 *
 * All requests of a worker are idempotent, so one without an answer (the server cannot be reached, is
 * busy, or was killed) is repeated until it is answered: workers survive a restart of the server.
 */
import http from 'node:http';
import https from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';

const DEFAULT_URL = 'http://127.0.0.1:8400';
const WAIT_MS = { first: 100, most: 5000 };
const ANSWER_MS = 60_000; // how long an answer may take

/** The server has refused the request; 409 means that another worker has the job. */
export class Refused extends Error {
    /** @param {number} status @param {string} text */
    constructor(status, text) {
        super(`HTTP ${status}: ${text}`);
        this.name = 'Refused';
        this.status = status;
    }
}

/** @param {number} status */
const isPassing = (status) => status >= 500 || status === 429 || status === 408;

/** @param {string} text */
function detail(text) {
    try {
        const value = JSON.parse(text).detail ?? text;
        return typeof value === 'string' ? value : JSON.stringify(value);
    } catch {
        return text;
    }
}

export class Wire {
    /** @param {{ url?: string, token?: string }} [where] the environment's `SPOOLWIRE_URL` and
     * `SPOOLWIRE_TOKEN` by default; `unix:/path` is a socket */
    constructor({ url = process.env.SPOOLWIRE_URL, token = process.env.SPOOLWIRE_TOKEN } = {}) {
        const where = url || DEFAULT_URL;
        const socketPath = where.startsWith('unix:') ? where.slice('unix:'.length) : undefined;
        const base = new URL(socketPath === undefined ? where : 'http://localhost');
        const { Agent, request } = base.protocol === 'https:' ? https : http;

        this.prefix = base.pathname.replace(/\/+$/, '');
        this.send = request;
        this.target = {
            ...(socketPath === undefined
                ? { hostname: base.hostname.replace(/^\[|\]$/g, ''), port: base.port }
                : { socketPath }),
            agent: new Agent({ keepAlive: true, maxSockets: 32 }),
            headers: token ? { authorization: `Bearer ${token}` } : {},
        };
    }

    /** One try: status and text.
     * @param {string} method @param {string} path @param {string | undefined} body
     * @param {{ signal?: AbortSignal, timeout?: number }} options
     * @returns {Promise<{ status: number, text: string, retryAfter: number }>} */
    #once(method, path, body, { signal, timeout = ANSWER_MS }) {
        return new Promise((resolve, reject) => {
            const headers = {
                ...this.target.headers,
                ...(body === undefined
                    ? {}
                    : {
                          'content-type': 'application/json',
                          'content-length': Buffer.byteLength(body),
                      }),
            };
            const request = this.send(
                { ...this.target, method, path: this.prefix + path, headers, signal, timeout },
                (response) => {
                    /** @type {Buffer[]} */
                    const parts = [];
                    response.on('data', (part) => parts.push(part));
                    response.on('error', reject);
                    response.on('end', () =>
                        resolve({
                            status: response.statusCode ?? 0,
                            text: Buffer.concat(parts).toString(),
                            retryAfter: Number(response.headers['retry-after'] ?? 0),
                        }),
                    );
                },
            );
            request.on('timeout', () => request.destroy(new Error('no answer in time')));
            request.on('error', reject);
            request.end(body);
        });
    }

    /**
     * Repeats the request until it is answered; throws when it is refused, or `signal` is aborted.
     * @param {string} method @param {string} path @param {string | undefined} [body] JSON
     * @param {{ signal?: AbortSignal, timeout?: number }} [options]
     * @returns {Promise<any>} the answer; undefined when it has no content
     */
    async request(method, path, body, options = {}) {
        let wait = WAIT_MS.first;

        for (;;) {
            let asked = 0;
            try {
                const { status, text, retryAfter } = await this.#once(method, path, body, options);
                if (status >= 200 && status < 300) return text === '' ? undefined : JSON.parse(text);
                if (!isPassing(status)) throw new Refused(status, detail(text));
                asked = retryAfter * 1000;
            } catch (error) {
                if (error instanceof Refused) throw error;
                options.signal?.throwIfAborted();
            }
            await pause(Math.max(asked, wait * (0.5 + Math.random() / 2)), undefined, {
                signal: options.signal,
            });
            wait = Math.min(wait * 2, WAIT_MS.most);
        }
    }

    /** @param {string} path @param {unknown} body @param {{ signal?: AbortSignal, timeout?: number }} [options] */
    post(path, body, options) {
        return this.request('POST', path, JSON.stringify(body), options);
    }

    close() {
        this.target.agent.destroy();
    }
}
