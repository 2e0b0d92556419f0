// What the files of this suite share: one server with the graphs, and the stock SDKs.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { project, Server } from '../../lib/server.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));

export const VERSIONS = ['1.6.0', '1.12.0'];
export const INPUT = { messages: [{ role: 'user', content: 'weather in Paris?', id: 'msg-human-1' }] };
export const QUESTION = { question: 'Send the answer?', options: ['yes', 'no'] };
export const GRAPHS = ['agent', 'failing', 'slow', 'talks', 'paced', 'endless', 'below', 'pushes', 'counted'];

const exported = { agent: 'graph' };

export async function serve() {
    const folder = project({
        'graphs.mjs': path.join(HERE, 'graphs.mjs'),
        'agent.py': path.join(HERE, '../../../examples/python/agent.py'),
    });
    const graphs = Object.fromEntries(GRAPHS.map((name) => [name, `./graphs.mjs:${exported[name] ?? name}`]));

    graphs.python = './agent.py:graph';
    fs.writeFileSync(path.join(folder, 'langgraph.json'), JSON.stringify({ graphs }));
    const server = await new Server(['dev', '--no-reload'], { cwd: folder }).start();
    server.folder = folder;
    return server;
}

export async function end(server) {
    await server?.stop();
    fs.rmSync(server?.folder ?? '', { recursive: true, force: true });
}

export async function clientOf(version, server) {
    const file = path.join(process.env.PACKAGES, 'node_modules', `sdk-${version}`, 'dist/index.js');
    const { Client } = await import(pathToFileURL(file).href);

    return new Client({ apiUrl: server.url, apiKey: null, callerOptions: { maxRetries: 0 } });
}

export const collect = (stream) => Array.fromAsync(stream);
export const ofMode = (parts, mode) => parts.filter((p) => p.event.split('|')[0] === mode).map((p) => p.data);
