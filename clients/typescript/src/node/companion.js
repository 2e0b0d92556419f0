/**
 * The companion of the server: runs the project's authentication handlers and its HTTP app
 * (`auth` and `http.app` of langgraph.json).
 *
 * The server asks over a Unix socket, a line for each question and each answer; requests for the app
 * come over another one.
 */
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import readline from 'node:readline';

import { App, Server } from './app.js';
import { Handlers } from './auth.js';
import { registerLogger } from './logger.js';
import { langgraph } from './peer.js';
import { importing } from './typescript.js';

/** @param {string} spec `file:export` @param {string} what */
async function exported(spec, what) {
    const [file, name = 'default'] = spec.split(/:(?=[^/\\:]*$)/);
    const full = path.resolve(file);

    if (!fs.existsSync(full)) throw new Error(`'${what}': ${full} does not exist`);
    const module = await importing(full);
    if (module[name] === undefined) throw new Error(`'${what}': ${full} exports no ${name}`);
    return module[name];
}

/** @template T @param {string} what @param {string} spec @param {(thing: any) => T} make @returns {Promise<T>} */
async function made(what, spec, make) {
    const thing = await exported(spec, what);
    try {
        return await make(thing);
    } catch (error) {
        throw new Error(`'${what}': ${spec}: ${/** @type {Error} */ (error).message}`);
    }
}

/** @param {Handlers} handlers @param {string} place of a Unix socket */
function listenForQuestions(handlers, place) {
    const server = net.createServer((socket) => {
        socket.on('error', () => {});
        readline.createInterface({ input: socket, crlfDelay: Infinity }).on('line', async (line) => {
            const number = line.slice(0, line.indexOf(' '));
            const answer = await handlers.answer(JSON.parse(line.slice(number.length + 1)));
            if (socket.writable) socket.write(`${number} ${JSON.stringify(answer)}\n`);
        }).on('error', () => {});
    });
    return new Promise((resolve, reject) => server.once('error', reject).listen(place, () => resolve(server)));
}

/**
 * @param {{ auth?: string, app?: string, settings?: string, check?: boolean }} options
 */
export async function serveCompanion({ auth, app, settings = '{}', check = false }) {
    const { SPOOLWIRE_URL = 'http://127.0.0.1:8400', SPOOLWIRE_COMPANION_ASK, SPOOLWIRE_COMPANION_HTTP, SPOOLWIRE_COMPANION_SECRET = '' } = process.env;
    const server = new Server(SPOOLWIRE_URL, SPOOLWIRE_COMPANION_SECRET);

    await langgraph(process.cwd()).then(registerLogger, () => {}); // only for those who have it
    server.bindLoopback();
    const handlers = auth === undefined ? undefined : await made('auth', auth, (thing) => new Handlers(thing, JSON.parse(settings)));
    const outer = app === undefined ? undefined : await made('http.app', app, (thing) => App.of(thing, path.dirname(path.resolve(app.slice(0, app.lastIndexOf(':')))), server, handlers));
    if (check) process.exit(0); // what was imported may keep the process alive
    for (const place of [SPOOLWIRE_COMPANION_ASK, SPOOLWIRE_COMPANION_HTTP]) fs.rmSync(place ?? '', { force: true });
    if (handlers) await listenForQuestions(handlers, SPOOLWIRE_COMPANION_ASK ?? '');
    if (outer) await outer.listen(SPOOLWIRE_COMPANION_HTTP ?? '');
    const news = { auth: Boolean(handlers), ...(outer ? { app: { routes: outer.routes, websockets: [] } } : {}) };
    process.stdout.write(`${SPOOLWIRE_COMPANION_SECRET} ${JSON.stringify(news)}\n`);
    process.stdin.on('end', () => process.exit(0)).resume(); // the server is gone
}
