// The same graph and the same client against spoolwire and against LangGraph's own dev servers.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const { SPOOLWIRE, PACKAGES, VENV, BENCH } = process.env;
const quick = process.argv.includes('--quick');
const RUNS = [1, 10, 100];
const TOKENS = quick ? 50 : 200; // of a run
const ROUNDS = quick ? 1 : 3;
const FIRSTS = quick ? 3 : 10;
const LONG = quick ? { checkpoints: 20, messages: 4 } : { checkpoints: 500, messages: 4 }; // messages of each
const READS = quick ? 3 : 10;
const OVER_GRAPH = 10; // ms that a first token may take longer than with the graph alone

const { Client } = await import(
    pathToFileURL(path.join(PACKAGES, 'node_modules/@langchain/langgraph-sdk/dist/index.js')).href
);

const freePort = () =>
    new Promise((resolve) => {
        const server = createServer().listen(0, '127.0.0.1', () => {
            const { port } = server.address();
            server.close(() => resolve(port));
        });
    });

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

// The processes of a server, by name: its own, and those that it has started.
function tree(pid) {
    const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    const others = fs.readdirSync(`/proc/${pid}/task`).flatMap((task) => {
        try {
            return fs.readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean);
        } catch {
            return [];
        }
    });
    return [pid, ...new Set([...children.split(' ').filter(Boolean), ...others])].map(Number);
}

// CPU seconds so far, and resident MiB, of one process.
function usage(pid) {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
    const rss = /VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1];
    return { cpu: (Number(stat[11]) + Number(stat[12])) / 100, mib: Number(rss) / 1024 };
}

function total(pids) {
    const all = pids.map(usage);
    return { cpu: all.reduce((n, u) => n + u.cpu, 0), mib: all.reduce((n, u) => n + u.mib, 0) };
}

// What is needed of a language: its graph, and its own dev server.
const KITS = {
    javascript: {
        files: ['graph.mjs', 'peer.mjs', 'own.mjs'],
        own: () => [process.execPath, 'own.mjs'],
        peer: 'langgraph-api',
        command: (port) => [process.execPath, 'peer.mjs', String(port)],
    },
    python: {
        files: ['graph.py', 'own.py'],
        own: () => [path.join(VENV, 'bin/python'), 'own.py'],
        peer: 'langgraph dev',
        command: (port) => [
            path.join(VENV, 'bin/langgraph'),
            ...['dev', '--no-browser', '--no-reload', '--n-jobs-per-worker', '100', '--host', '127.0.0.1', '--port', String(port)],
        ],
    },
};

function project({ files }) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'spoolwire-bench-'));
    for (const name of files) fs.copyFileSync(path.join(BENCH, name), path.join(folder, name));
    fs.symlinkSync(path.join(PACKAGES, 'node_modules'), path.join(folder, 'node_modules'));
    fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
    fs.writeFileSync(path.join(folder, 'langgraph.json'), JSON.stringify({ dependencies: ['.'], graphs: { agent: `./${files[0]}:graph` } }));
    return folder;
}

async function start(name, kit) {
    const folder = project(kit);
    const port = await freePort();
    const [program, ...words] =
        name === 'spoolwire' ? [SPOOLWIRE, 'dev', '--no-reload', '--listen', `127.0.0.1:${port}`] : kit.command(port);
    const programs = [path.join(VENV, 'bin'), path.dirname(process.execPath), process.env.PATH].join(':');
    const log = fs.openSync(path.join(folder, 'log'), 'w');
    const child = spawn(program, words, {
        cwd: folder,
        stdio: ['ignore', log, log],
        env: { ...process.env, PATH: programs, NODE_ENV: 'production', LANGSMITH_TRACING: 'false', LANGGRAPH_CLI_NO_ANALYTICS: '1' },
    });
    const url = `http://127.0.0.1:${port}`;
    const client = new Client({ apiUrl: url, apiKey: null });
    const server = { name, folder, child, client, url };

    for (let i = 0; ; i += 1) {
        try {
            await one(server, 1, 0);
            return server;
        } catch (error) {
            if (i > 300) throw new Error(`${name} does not work: ${error.message}\n${fs.readFileSync(path.join(folder, 'log'))}`);
            await pause(100);
        }
    }
}

async function end({ child, folder }) {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    fs.rmSync(folder, { recursive: true, force: true });
}

// One run on a thread of its own: when its first token came, and how many did.
async function one({ client }, tokens, ms) {
    const { thread_id } = await client.threads.create();
    const input = { messages: [{ role: 'user', content: `${tokens} ${ms}` }] };
    const began = performance.now();
    let first;
    let n = 0;

    for await (const { event } of client.runs.stream(thread_id, 'agent', { input, streamMode: 'messages-tuple' })) {
        if (event !== 'messages') continue;
        first ??= performance.now() - began;
        n += 1;
    }
    if (n < tokens) throw new Error(`${n} tokens of ${tokens}`);
    return { first, n: tokens };
}

async function post(url, body) {
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    return response;
}

// The same over the thread-scoped protocol: a command starts the run, and the thread's stream, open before, has its events.
async function oneOfThread({ url }, tokens, ms) {
    const thread = `${url}/threads/${crypto.randomUUID()}`;
    const input = { messages: [{ role: 'user', content: `${tokens} ${ms}` }] };
    const run = { id: 1, method: 'run.start', params: { assistant_id: 'agent', input } };
    const began = performance.now();
    const started = await (await post(`${thread}/commands`, run)).json();
    if (started.type === 'error') throw new Error(started.message);
    const events = await post(`${thread}/stream/events`, { channels: ['messages', 'lifecycle'] });
    let [first, n, rest] = [undefined, 0, ''];

    for await (const piece of events.body.pipeThrough(new TextDecoderStream())) {
        const frames = (rest + piece.replaceAll('\r', '')).split('\n\n'); // the Python server ends lines with CR and LF
        rest = frames.pop();
        for (const frame of frames) {
            const data = /^data: (.*)$/m.exec(frame)?.[1];
            const event = data && JSON.parse(data);
            if (event?.method === 'messages' && event.params.data.event === 'content-block-delta') {
                first ??= performance.now() - began;
                n += 1;
            }
            const is_root = event?.method === 'lifecycle' && event.params.namespace.length === 0;
            if (!is_root || event.params.data.event === 'running' || event.params.data.event === 'started') continue;
            if (n < tokens) throw new Error(`${n} tokens of ${tokens}`);
            return { first, n: tokens }; // which closes the stream
        }
    }
    throw new Error(`the stream ended after ${n} tokens`);
}

// How long requests take that concern a thread with a long past.
async function longThread({ client }) {
    const { thread_id } = await client.threads.create({ metadata: { graph_id: 'agent' } });
    await client.runs.wait(thread_id, 'agent', { input: { messages: [{ role: 'user', content: '1 0' }] } });
    for (let i = 0; i < LONG.checkpoints; i += 1) {
        const messages = Array.from({ length: LONG.messages }, (_, k) => ({ role: 'user', content: `message ${k} of ${i}`, id: `${i}-${k}` }));
        await client.threads.updateState(thread_id, { values: { messages }, asNode: 'talk' });
    }
    const requests = {
        'state': () => client.threads.getState(thread_id),
        'history of 10': () => client.threads.getHistory(thread_id, { limit: 10 }),
        'search with select': () => client.threads.search({ limit: 10, select: ['thread_id', 'metadata', 'status'] }),
        'copy': () => client.threads.copy(thread_id),
    };
    const took = {};
    for (const [name, request] of Object.entries(requests)) {
        const list = [];
        for (let i = 0; i < READS; i += 1) {
            const began = performance.now();
            await request();
            list.push(performance.now() - began);
        }
        took[name] = median(list);
    }
    return took;
}

// Tokens a second of the runs of threads, so many at a time.
async function rateOfThreads(server, runs) {
    const took = [];
    for (let round = 0; round < ROUNDS; round += 1) {
        const began = performance.now();
        await Promise.all(Array.from({ length: runs }, () => oneOfThread(server, TOKENS, 0)));
        took.push((runs * TOKENS * 1000) / (performance.now() - began));
    }
    return median(took);
}

async function measure(server) {
    const firsts = [];
    for (let i = 0; i < FIRSTS; i += 1) firsts.push((await one(server, 5, 1)).first);
    const threadFirsts = [];
    for (let i = 0; i < FIRSTS; i += 1) threadFirsts.push((await oneOfThread(server, 5, 1)).first);

    const rates = {};
    const before = total(tree(server.child.pid));
    const own = usage(server.child.pid).cpu;
    let tokens = 0;
    for (const runs of RUNS) {
        const took = [];
        for (let round = 0; round < ROUNDS; round += 1) {
            const began = performance.now();
            await Promise.all(Array.from({ length: runs }, () => one(server, TOKENS, 0)));
            took.push((runs * TOKENS * 1000) / (performance.now() - began));
            tokens += runs * TOKENS;
        }
        rates[runs] = median(took);
    }
    const pids = tree(server.child.pid);
    const after = total(pids);
    const ownCpu = usage(server.child.pid).cpu - own;
    const threadRates = {};
    for (const runs of RUNS) threadRates[runs] = await rateOfThreads(server, runs);
    return {
        threadFirst: median(threadFirsts),
        threadRates,
        long: await longThread(server),
        first: median(firsts),
        rates,
        cpu: ((after.cpu - before.cpu) * 1e6) / tokens,
        ownCpu: (ownCpu * 1e6) / tokens,
        mib: after.mib,
        ownMib: usage(server.child.pid).mib,
    };
}

// ms to the first token of the graph without a server.
function ownFirst(kit) {
    const folder = project(kit);
    const [program, ...words] = kit.own();
    const said = execFileSync(program, [...words, String(FIRSTS)], { cwd: folder, encoding: 'utf8' });

    fs.rmSync(folder, { recursive: true, force: true });
    return median(JSON.parse(said));
}

async function figures(name, kit) {
    const server = await start(name, kit);
    try {
        return await measure(server);
    } finally {
        await end(server);
    }
}

let failed = 0;

function row(what, a, b, ratio, digits = 0, isMet = ratio >= 1) {
    if (!isMet) failed += 1;
    const text = (n) => n.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
    console.log(`| ${what.padEnd(46)} | ${text(a).padStart(9)} | ${text(b).padStart(13)} | ${ratio.toFixed(2).padStart(7)} |`);
}

async function compare(kit) {
    const own = ownFirst(kit);
    const ours = await figures('spoolwire', kit);
    const theirs = await figures(kit.peer, kit);

    console.log(`\n| figure                                         | spoolwire | ${kit.peer.padStart(13)} |  ahead  |`);
    console.log('| ---------------------------------------------- | --------: | ------------: | ------: |');
    row('time to the first token, ms', ours.first, theirs.first, theirs.first / ours.first, 1);
    const over = (figure) => Math.max(figure - own, 0.1);
    row('… over that of the graph alone (at most 10)', over(ours.first), over(theirs.first), over(theirs.first) / over(ours.first), 1, over(ours.first) <= OVER_GRAPH);
    for (const runs of RUNS)
        row(`tokens/s, ${runs} ${runs === 1 ? 'run' : 'runs at a time'}`, ours.rates[runs], theirs.rates[runs], ours.rates[runs] / theirs.rates[runs]);
    row('thread protocol: time to the first token, ms', ours.threadFirst, theirs.threadFirst, theirs.threadFirst / ours.threadFirst, 1);
    row('… over that of the graph alone (at most 10)', over(ours.threadFirst), over(theirs.threadFirst), over(theirs.threadFirst) / over(ours.threadFirst), 1, over(ours.threadFirst) <= OVER_GRAPH);
    for (const runs of RUNS)
        row(`thread protocol: tokens/s, ${runs} at a time`, ours.threadRates[runs], theirs.threadRates[runs], ours.threadRates[runs] / theirs.threadRates[runs]);
    for (const [name, ms] of Object.entries(ours.long)) row(`long thread: ${name}, ms`, ms, theirs.long[name], theirs.long[name] / ms, 1);
    row('CPU ms of 1,000 tokens, with the graph', ours.cpu, theirs.cpu, theirs.cpu / ours.cpu, 1);
    row('resident MiB, with the graph', ours.mib, theirs.mib, theirs.mib / ours.mib);
    console.log(`\nOf that the server alone: ${ours.ownCpu.toFixed(1)} CPU ms of 1,000 tokens, ${ours.ownMib.toFixed(0)} MiB; the other one is one process.`);
}

const wanted = Object.keys(KITS).filter((name) => process.argv.includes(`--${name}`));
const takesPart = (name) => wanted.length === 0 || wanted.includes(name);

if (takesPart('javascript')) await compare(KITS.javascript);
if (!takesPart('python')) console.log('not judged: Python');
else if (fs.existsSync(path.join(VENV, 'bin/langgraph'))) await compare(KITS.python);
else console.log("not judged: LangGraph's Python dev server could not be installed");
console.log(failed === 0 ? 'every bar met' : `behind on ${failed}`);
process.exitCode = failed === 0 ? 0 : 1;
