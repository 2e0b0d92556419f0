// A server for whose agent `pull` the test is the worker, and the events of such a worker.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { Server, until } from './server.js';

export class Stage extends Server {
    // `agents`: more lines of their table.
    constructor(flags = [], agents = '') {
        const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'spoolwire-stage-'));
        const [config, data] = ['spoolwire.yaml', 'x.db'].map((name) => path.join(folder, name));

        fs.writeFileSync(config, 'agents:\n  pull: {pull: true, lease: 10m, description: Played by the test}\n' + agents);
        super(['serve', '--config', config, '--data', data, '--shutdown-window', '1s', ...flags]);
        this.folder = folder;
    }

    async close() {
        await this.kill();
        fs.rmSync(this.folder, { recursive: true });
    }

    // A body that is not a string is sent as JSON.
    async ask(method, where, body, headers = {}) {
        const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
        const response = await fetch(this.url + where, { method, headers, body: text });
        const answer = await response.text();

        if (!response.ok) throw new Error(`${method} ${where}: ${response.status} ${answer}`);
        return answer === '' ? undefined : JSON.parse(answer);
    }

    async submit(agent, input, id) {
        return (await this.ask('POST', '/v1/jobs', { agent, input, job_id: id })).job_id;
    }

    async untilState(id, state) {
        await until(`${id} is ${state}`, async () => (await this.get(`/v1/jobs/${id}`)).state === state);
    }

    async lease(worker = 'w1') {
        return new Lease(this, await this.ask('POST', '/v1/worker/lease', { agents: ['pull'], worker, wait: 20 }));
    }

    // Runs a job whose events are those of a recording, up to its end.
    async play(recording, id) {
        await this.submit('pull', {}, id);
        const lease = await this.lease();
        await lease.send(fs.readFileSync(path.join(process.env.RECORDINGS, recording), 'utf8').trimEnd());
        return lease;
    }
}

class Lease {
    constructor(server, order) {
        Object.assign(this, { server, order });
    }

    path(what) {
        return `/v1/worker/jobs/${this.order.job}/${what}?lease=${this.order.lease}`;
    }

    // Objects, or the lines themselves.
    async send(...events) {
        const lines = events.map((e) => (typeof e === 'string' ? e : JSON.stringify(e))).join('\n');
        return this.server.ask('POST', this.path('events'), `${lines}\n`, { 'Content-Type': 'application/x-ndjson' });
    }

    async finish(status = 'success', more = {}) {
        return this.server.ask('POST', this.path('finish'), { status, ...more });
    }
}

// --- events, as astream_events has them ---

function event(kind, name, run, parents, data, node) {
    const meta = node ? { langgraph_node: node, langgraph_step: 1, langgraph_checkpoint_ns: `${node}:${parents[1] ?? run}` } : {};
    return { event: kind, name, run_id: run, parent_ids: parents, tags: name === node ? ['graph:step:1'] : [], metadata: meta, data };
}

function message(type, model, content) {
    return { content, type, id: `m-${model}`, additional_kwargs: {}, response_metadata: {} };
}

export const graph = {
    start: () => event('on_chain_start', 'LangGraph', 'root', [], { input: { issue: 'x' } }),
    end: () => event('on_chain_end', 'LangGraph', 'root', [], { output: {} }),
    node: (node, run) => event('on_chain_start', node, run, ['root'], { input: {} }, node),
    nodeEnd: (node, run) => event('on_chain_end', node, run, ['root'], { output: {} }, node),
    model: (node, run, model) => event('on_chat_model_start', 'Chat', model, ['root', run], { input: { messages: [[]] } }, node),
    token: (node, run, model, text) =>
        event('on_chat_model_stream', 'Chat', model, ['root', run], { chunk: message('AIMessageChunk', model, text) }, node),
    modelEnd: (node, run, model, text) =>
        event('on_chat_model_end', 'Chat', model, ['root', run], { output: message('ai', model, text) }, node),
    progress: (node, run, percent, message) => event('on_custom_event', 'progress', run, ['root'], { percent, message }, node),
    tool: (node, run, tool, name, input) => event('on_tool_start', name, tool, ['root', run], { input }, node),
    toolEnd: (node, run, tool, name, output) => event('on_tool_end', name, tool, ['root', run], { output }, node),
};
