// Small runs of our own, as astream_events v2: one graph with one node.
const metadata = {
    langgraph_node: 'agent',
    langgraph_step: 1,
    langgraph_checkpoint_ns: 'agent:1',
};

const root = (phase, data) => ({
    event: `on_chain_${phase}`,
    run_id: 'root',
    name: 'LangGraph',
    tags: [],
    metadata: {},
    parent_ids: [],
    data,
});
const node = (phase, data) => ({
    event: `on_chain_${phase}`,
    run_id: 'node',
    name: 'agent',
    tags: ['graph:step:1'],
    metadata,
    parent_ids: ['root'],
    data,
});
const model = (phase, data) => ({
    event: `on_chat_model_${phase}`,
    run_id: 'model',
    name: 'Model',
    tags: [],
    metadata,
    parent_ids: ['root', 'node'],
    data,
});

const bytes = (events) =>
    Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''));

const blank = {
    content: '',
    additional_kwargs: {},
    response_metadata: {},
    id: 'msg-1',
    tool_calls: [],
};
export const chunk = (fields) => ({
    ...blank,
    type: 'AIMessageChunk',
    tool_call_chunks: [],
    ...fields,
});
export const answer = (fields) => ({ ...blank, type: 'ai', ...fields });

// A model streams `chunks` and comes to `final`.
export const modelRun = (chunks, final) =>
    bytes([
        root('start', { input: {} }),
        node('start', { input: {} }),
        model('start', { input: { messages: [[]] } }),
        ...chunks.map((one) => model('stream', { chunk: one })),
        model('end', { output: final }),
        node('end', { output: { messages: [final] } }),
        root('stream', { chunk: { agent: { messages: [final] } } }),
        root('end', { output: { messages: [final] } }),
    ]);

// A node is given `input` and returns `messages`.
export const nodeRun = (messages, input = {}) =>
    bytes([
        root('start', { input }),
        node('start', { input }),
        node('end', { output: { messages }, input }),
        root('stream', { chunk: { agent: { messages } } }),
        root('end', { output: { messages } }),
    ]);

// The graph stops and asks; each list is one chunk.
export const questions = (...lists) =>
    bytes([
        root('start', { input: {} }),
        node('start', { input: {} }),
        ...lists.map((list) => root('stream', { chunk: { __interrupt__: list } })),
        root('end', { output: { messages: [] } }),
    ]);
