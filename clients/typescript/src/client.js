/**
 * A job's events as an async iterator that survives cut connections and restarts of the server,
 * and the few requests that go with it.
 *
 * An event's id is a cursor into the job's log. After a lost connection the reader reconnects with
 * the last id, so that no event is missing and none comes twice. Events without an id are about the
 * connection. The end of a response is not the end of the job: the reader asks again, and stops when
 * the server answers 204.
 */
import { SseParser } from './sse.js';

/**
 * @typedef {object} Server
 * @property {string} [url] where it listens; in a browser the page's own origin
 * @property {string} [token] the access token
 * @property {AbortSignal} [signal] aborts the request or the stream
 * @property {typeof fetch} [fetch]
 *
 * @typedef {object} Place
 * @property {string} [dialect] agent (unless given) or another of docs/dialects.md
 * @property {string} [after] an event's id; everything from the beginning without it
 * @property {string[]} [modes] stream modes of the dialect `messages`
 * @property {boolean} [subgraphs]
 * @property {number} [silence] milliseconds without a byte after which a connection counts as cut;
 *     a minute, which is four times the server's own `keep_alive`
 *
 * @typedef {object} Event
 * @property {string | undefined} id the place behind it, for `after`
 * @property {string} event
 * @property {any} data
 */

const DEFAULT_URL = 'http://127.0.0.1:8400';
const WAIT_MS = { first: 250, most: 10_000 };
const SILENCE_MS = 60_000;

/** The server has refused the request: `status`, and its error text as the message. */
export class SpoolwireError extends Error {
    /** @param {number} status @param {string} message */
    constructor(status, message) {
        super(message);
        this.name = 'SpoolwireError';
        this.status = status;
    }
}

/** @param {Server} server @param {string} path */
function address({ url }, path) {
    const page = /** @type {any} */ (globalThis).location?.origin;
    const variable = /** @type {any} */ (globalThis).process?.env?.SPOOLWIRE_URL;

    return (url ?? variable ?? page ?? DEFAULT_URL).replace(/\/+$/, '') + path;
}

/** @param {Server} server @returns {Record<string, string>} */
const authorization = ({ token }) => (token ? { Authorization: `Bearer ${token}` } : {});

/** @param {Response} response */
async function refusal(response) {
    const text = await response.text().catch(() => '');
    let detail = text;

    try {
        detail = JSON.parse(text).detail ?? text;
    } catch {
        // Not JSON, such as a proxy's error page: use its text.
    }
    if (typeof detail !== 'string') detail = JSON.stringify(detail);
    return new SpoolwireError(response.status, detail || `HTTP ${response.status}`);
}

/** @param {Server} server @param {string} path @param {unknown} [body] @returns {Promise<any>} */
async function post(server, path, body) {
    const response = await (server.fetch ?? fetch)(address(server, path), {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...authorization(server) },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: server.signal,
    });
    if (!response.ok) throw await refusal(response);
    return response.json();
}

/**
 * Submits a job; returns it with its `job_id`.  With a `job_id` of your own the request may be
 * repeated: a second one is refused with 409.
 * @param {string} agent
 * @param {unknown} input
 * @param {Server & { job_id?: string }} [options]
 */
export const submit = (agent, input, { job_id, ...server } = {}) =>
    post(server, '/v1/jobs', { agent, input, ...(job_id ? { job_id } : {}) });

/**
 * Answers the one open question of a job, or those named: `{ answers: { id: value } }`.
 * @param {string} job
 * @param {{ value: unknown, interrupt_id?: string } | { answers: Record<string, unknown> }} what
 * @param {Server} [server]
 */
export const answer = (job, what, server = {}) =>
    post(server, `/v1/jobs/${encodeURIComponent(job)}/answer`, what);

/** @param {string} job @param {Server} [server] */
export const cancel = (job, server = {}) =>
    post(server, `/v1/jobs/${encodeURIComponent(job)}/cancel`);

/** @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>} */
const pause = (ms, signal) =>
    new Promise((resolve) => {
        const done = () => {
            clearTimeout(timer);
            signal?.removeEventListener('abort', done);
            resolve();
        };
        const timer = setTimeout(done, ms);
        signal?.addEventListener('abort', done);
    });

/** @param {string} job @param {Place} place */
function eventsPath(job, { dialect, modes, subgraphs }) {
    const query = new URLSearchParams();

    if (dialect) query.set('dialect', dialect);
    if (modes) query.set('modes', modes.join(','));
    if (subgraphs) query.set('subgraphs', '1');
    return `/v1/jobs/${encodeURIComponent(job)}/events?${query}`;
}

/** The events of one response, until it ends or is cut.
 * @param {Response} response @param {SseParser} parser @param {number} silence */
async function* read(response, parser, silence) {
    const decoder = new TextDecoder();
    const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();

    try {
        for (;;) {
            // After sleep or a change of networks, TCP does not report that the connection is dead.
            const timer = setTimeout(() => reader.cancel().catch(() => {}), silence);
            const { value, done } = await reader.read().finally(() => clearTimeout(timer));
            if (done) return;
            yield* parser.feed(decoder.decode(value, { stream: true }));
        }
    } finally {
        reader.cancel().catch(() => {}); // closes the connection when the caller stops reading
    }
}

/**
 * The events of a job, from its beginning or after a place, until its end.
 *
 * Throws a `SpoolwireError` when the server refuses (no such job, no right to see it); ends
 * quietly when `signal` is aborted; after any other error it reconnects.
 *
 * @param {string} job
 * @param {Place & Server} [options]
 * @returns {AsyncGenerator<Event, void, void>}
 */
export async function* subscribe(job, options = {}) {
    const { signal } = options;
    const ask = options.fetch ?? fetch;
    const target = address(options, eventsPath(job, options));
    let last = options.after;
    let wait = WAIT_MS.first;

    while (!signal?.aborted) {
        const parser = new SseParser();
        let n = 0;
        try {
            const response = await ask(target, {
                headers: {
                    Accept: 'text/event-stream',
                    ...authorization(options),
                    ...(last ? { 'Last-Event-ID': last } : {}),
                },
                signal,
            });
            if (response.status === 204) return;
            if (response.status >= 500 || response.status === 429) throw new Error('busy');
            if (!response.ok) throw await refusal(response);
            for await (const { id, event, data } of read(response, parser, options.silence ?? SILENCE_MS)) {
                wait = WAIT_MS.first;
                n += 1;
                if (id !== undefined) last = id;
                yield { id, event, data: JSON.parse(data) };
                if (signal?.aborted) return;
            }
            if (n > 0 && parser.retry === undefined) continue; // probably the end: ask at once
        } catch (error) {
            if (error instanceof SpoolwireError) throw error;
            if (signal?.aborted) return;
        }
        await pause(parser.retry ?? wait * (0.5 + Math.random() / 2), signal);
        wait = Math.min(wait * 2, WAIT_MS.most);
    }
}
