// The stock SDK puts messages together again from the deltas: exactly the text, the thinking
// and the tool calls that the model came to, nothing twice.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { answer, chunk, modelRun, nodeRun } from './events.js';
import { frames, recording, shorter } from './filter.js';
import { sdks } from './packages.js';
import { answers, tuples } from './recorded.js';

const withSubgraphs = ['--to', 'messages', '--subgraphs'];

// These models were scripted to say the same, under the same id, in each attempt.  A client
// goes by ids and takes the attempts for one message.
const ID_USED_AGAIN = [
    'c-node-retried.ndjson',
    'c-node-throws.ndjson',
    'py-c-node-throws.server.ndjson',
];
const compared = shorter.filter((name) => !ID_USED_AGAIN.includes(name));

// Captured from a real LangGraph server, with message tuples.
const served = shorter.filter((name) => /js-server-0[1-5]/.test(name));

const isOf =
    (mode) =>
    ({ event }) =>
        event === mode || event.startsWith(`${mode}|`);
const tuplesOf = (said) => said.filter(isOf('messages')).map(({ data }) => data);

// Message id to message, as `useStream` would show them.
function rebuilt(sdk, tuples) {
    const manager = new sdk.MessageTupleManager();
    for (const [message, metadata] of structuredClone(tuples))
        assert.ok(manager.add(message, metadata), 'a message without an id');
    return new Map(
        Object.entries(manager.chunks).map(([id, { chunk }]) => [id, sdk.toMessageDict(chunk)]),
    );
}

const isCall = (block) => block.type === 'tool_use' || block.type === 'input_json_delta';

function usage(found) {
    // the SDK makes zeros of what is absent
    const { input_tokens = 0, output_tokens = 0, total_tokens = 0, ...details } = found ?? {};
    const { cache_read = 0, cache_creation = 0 } = details.input_token_details ?? {};
    const { reasoning = 0 } = details.output_token_details ?? {};
    return { input_tokens, output_tokens, total_tokens, cache_read, cache_creation, reasoning };
}

const calls = (found) => (found ?? []).map(({ id, name, args }) => ({ id, name, args }));

// What must be the same in two messages.  Python merges the parts of list content that make
// up tool calls in a way of its own: these count as tool calls only.
const essence = (message) => ({
    type: message.type.replace('AIMessageChunk', 'ai'),
    content: Array.isArray(message.content)
        ? message.content.filter((b) => !isCall(b))
        : message.content,
    tool_calls: calls(message.tool_calls),
    invalid_tool_calls: calls(message.invalid_tool_calls),
    tool_call_id: message.tool_call_id,
    name: message.type === 'tool' ? (message.name ?? undefined) : undefined, // agents sign later
    status: message.status,
});

const wholeEssence = (message) => ({
    ...essence(message),
    usage: usage(message.usage_metadata),
    response_metadata: message.response_metadata ?? {},
    additional_kwargs: message.additional_kwargs ?? {},
});

const essences = (messages) =>
    new Map(Array.from(messages, ([id, m]) => [id, wholeEssence(m)]));

const text = ({ content }) =>
    typeof content === 'string'
        ? content
        : content
              .map((block) => (typeof block === 'string' ? block : (block.text ?? '')))
              .join('');

// The ends of model runs, but not of those that only repeat another one's tokens.
async function ends(name) {
    const raw = (await frames(recording(name), '--to', 'raw')).map(({ data }) => data);
    const repeats = new Set(
        raw.filter(({ kind }) => kind === 'llm.repeat').map(({ run }) => run),
    );
    return raw.filter(
        ({ kind, status, run }) => kind === 'llm.end' && status === 'ok' && !repeats.has(run),
    );
}

const long = 'x'.repeat(100_000); // more than the field limit
const spent = (input_tokens, output_tokens) => ({
    input_tokens,
    output_tokens,
    total_tokens: input_tokens + output_tokens,
});
const call = (id, name, args) => ({ id, name, args, type: 'tool_call' });
const part = (index, args, id = null, name = null) => ({
    index,
    args,
    id,
    name,
    type: 'tool_call_chunk',
});

// What the recordings do not have: [what is told, the chunks, the model's final message].
const madeUp = [
    [
        'an answer that was not streamed',
        [],
        answer({
            content: 'whole',
            usage_metadata: spent(1, 2),
            response_metadata: { finish_reason: 'stop' },
        }),
    ],
    [
        'tool calls that were not streamed',
        [],
        answer({
            tool_calls: [call('c1', 'search', { q: 'a' }), call('c2', 'now', {})],
            response_metadata: { finish_reason: 'tool_calls' },
        }),
    ],
    [
        'thinking that was not streamed',
        [],
        answer({
            content: [
                { type: 'thinking', thinking: 'hm', signature: 's' },
                { type: 'text', text: 'hi' },
            ],
            response_metadata: { stop_reason: 'end_turn' },
        }),
    ],
    [
        'thinking and nothing else',
        [],
        answer({
            content: [{ type: 'thinking', thinking: 'hm' }],
            response_metadata: { stop_reason: 'end_turn' },
        }),
    ],
    [
        'list content with an end of its own',
        [
            chunk({ content: [{ type: 'text', text: 'a', index: 0 }] }),
            chunk({ content: [{ type: 'text', text: 'b', index: 0 }] }),
        ],
        answer({
            content: [{ type: 'text', text: 'ab', index: 0 }],
            response_metadata: { finish_reason: 'stop' },
        }),
    ],
    [
        'usage that came before the finish',
        [
            chunk({ content: 'a', usage_metadata: spent(10, 0) }),
            chunk({ content: 'b', usage_metadata: spent(0, 5) }),
        ],
        answer({
            content: 'ab',
            usage_metadata: spent(10, 5),
            response_metadata: { finish_reason: 'stop' },
        }),
    ],
    [
        'a model name that came before the finish',
        [
            chunk({ content: 'a', response_metadata: { model_name: 'gpt' } }),
            chunk({ content: 'b' }),
        ],
        answer({
            content: 'ab',
            response_metadata: { model_name: 'gpt', finish_reason: 'stop' },
        }),
    ],
    [
        'a finish in the last chunk',
        [chunk({ content: 'a' }), chunk({ response_metadata: { finish_reason: 'stop' } })],
        answer({ content: 'a', response_metadata: { finish_reason: 'stop' } }),
    ],
    [
        'reasoning beside the content',
        [
            chunk({ additional_kwargs: { reasoning_content: 'think' } }),
            chunk({ content: 'a', additional_kwargs: { reasoning_content: 'ing' } }),
        ],
        answer({ content: 'a', additional_kwargs: { reasoning_content: 'thinking' } }),
    ],
    [
        'two tool calls, streamed in turns',
        [
            chunk({ tool_call_chunks: [part(0, '', 'c1', 'search')] }),
            chunk({ tool_call_chunks: [part(1, '{"n"', 'c2', 'count')] }),
            chunk({ tool_call_chunks: [part(0, '{"q":"a"}'), part(1, ':2}')] }),
        ],
        answer({
            tool_calls: [call('c1', 'search', { q: 'a' }), call('c2', 'count', { n: 2 })],
            response_metadata: { finish_reason: 'tool_calls' },
        }),
    ],
    [
        'an id that only the first chunk has',
        [
            chunk({ content: 'a' }),
            chunk({ content: 'b', id: null }),
            chunk({ content: 'c', id: 'another' }),
        ],
        answer({ content: 'abc' }),
    ],
    [
        'long text',
        [],
        answer({
            content: long,
            usage_metadata: spent(1, 2),
            response_metadata: { finish_reason: 'stop' },
        }),
    ],
    [
        'long text after thinking',
        [],
        answer({
            content: [
                { type: 'thinking', thinking: 'hm' },
                { type: 'text', text: long },
            ],
        }),
    ],
    [
        'a long thought',
        [
            chunk({ content: [{ type: 'thinking', thinking: long, index: 0 }] }),
            chunk({ content: [{ type: 'text', text: 'a', index: 1 }] }),
        ],
        answer({
            content: [
                { type: 'thinking', thinking: long, index: 0 },
                { type: 'text', text: 'a', index: 1 },
            ],
        }),
    ],
    [
        'long arguments, in one chunk',
        [
            chunk({
                tool_call_chunks: [part(0, JSON.stringify({ text: long }), 'c1', 'write_file')],
            }),
        ],
        answer({ tool_calls: [call('c1', 'write_file', { text: long })] }),
    ],
    [
        'long arguments, not streamed',
        [],
        answer({ tool_calls: [call('c1', 'write_file', { text: long })] }),
    ],
];

for (const sdk of sdks) {
    const who = `SDK ${sdk.version}`;
    const made = async (name, ...options) =>
        rebuilt(sdk, tuplesOf(await frames(recording(name), ...options)));

    describe(who, { concurrency: 4 }, () => {
        for (const name of compared.filter((name) => answers(name).length > 0)) {
            test(`${who} rebuilds each model's answer of ${name}`, async () => {
                const messages = await made(name, ...withSubgraphs);
                for (const answer of answers(name)) {
                    assert.ok(messages.has(answer.id), `${answer.id} did not come`);
                    assert.deepEqual(
                        wholeEssence(messages.get(answer.id)),
                        wholeEssence(answer),
                    );
                }
            });
        }

        for (const name of shorter.filter((name) => tuples(name).length > 0)) {
            test(`${who} makes of ${name} what it makes of the recorded parts`, async () => {
                assert.deepEqual(
                    essences(await made(name, ...withSubgraphs)),
                    essences(rebuilt(sdk, tuples(name))),
                );
            });
        }

        for (const name of served) {
            test(`${who} makes of ${name} what it makes of the server's own bytes`, async () => {
                const bytes = ReadableStream.from([new Uint8Array(recording(name))]);
                const theirs = await Array.fromAsync(
                    bytes.pipeThrough(sdk.BytesLineDecoder()).pipeThrough(sdk.SSEDecoder()),
                );
                const expected = rebuilt(sdk, tuplesOf(theirs));
                assert.ok(expected.size > 0);
                assert.deepEqual(
                    essences(await made(name, ...withSubgraphs)),
                    essences(expected),
                );
            });
        }

        // Callbacks and messages as repr: what the fold came to is the measure.
        for (const name of compared) {
            test(`${who} rebuilds the text of every model run of ${name}`, async () => {
                const messages = await made(name, ...withSubgraphs);
                for (const end of (await ends(name)).filter((end) => end.text !== undefined)) {
                    assert.ok(messages.has(end.message), `${end.message} did not come`);
                    assert.equal(text(messages.get(end.message)), end.text);
                    // The end of a model that came as stream parts does not repeat its calls.
                    if (end.calls !== undefined)
                        assert.deepEqual(
                            calls(messages.get(end.message).tool_calls),
                            calls(end.calls),
                        );
                }
            });
        }

        // Whole messages too: tool results, answers that no model streamed.
        for (const name of compared) {
            test(`${who} has every message that a node of ${name} wrote to the state`, async () => {
                const said = await frames(recording(name), ...withSubgraphs);
                const messages = rebuilt(sdk, tuplesOf(said));
                const results = new Map(
                    Array.from(messages.values(), (m) => [m.tool_call_id, m]),
                );
                const written = said
                    .filter(isOf('updates'))
                    .flatMap(({ data }) => Object.values(data))
                    .flatMap((update) => update?.messages ?? [])
                    .filter(
                        ({ type }) =>
                            type === 'ai' || type === 'AIMessageChunk' || type === 'tool',
                    );
                for (const message of written) {
                    // The id of a tool message that came without one is ours in the stream and
                    // the reducer's in the state.
                    const got = messages.get(message.id) ?? results.get(message.tool_call_id);
                    assert.ok(got, `${message.id} did not come`);
                    assert.deepEqual(essence(got), essence(message));
                }
            });
        }

        for (const [what, chunks, final] of madeUp) {
            test(`${who} rebuilds ${what}`, async () => {
                const said = await frames(modelRun(chunks, final), '--to', 'messages');
                assert.deepEqual(
                    essences(rebuilt(sdk, tuplesOf(said))),
                    new Map([['msg-1', wholeEssence(final)]]),
                );
            });
        }

        test(`${who} has whole messages as the node wrote them`, async () => {
            const messages = [
                {
                    type: 'ai',
                    content: 'from the node',
                    id: 'a1',
                    tool_calls: [call('c1', 'read', {})],
                    additional_kwargs: { k: 1 },
                    response_metadata: {},
                },
                {
                    type: 'tool',
                    content: long,
                    id: 't1',
                    tool_call_id: 'c1',
                    name: 'read',
                    status: 'error',
                    additional_kwargs: {},
                    response_metadata: {},
                },
            ];
            const said = await frames(nodeRun(messages), '--to', 'messages');
            assert.deepEqual(
                essences(rebuilt(sdk, tuplesOf(said))),
                new Map(messages.map((message) => [message.id, wholeEssence(message)])),
            );
        });

        test(`${who} finds an id in messages that the node gave none`, async () => {
            const said = await frames(
                nodeRun([
                    { type: 'ai', content: 'one' },
                    { type: 'ai', content: 'two' },
                    { type: 'tool', content: 'three', tool_call_id: 'c1' },
                ]),
                '--to',
                'messages',
            );
            const messages = rebuilt(sdk, tuplesOf(said));
            assert.deepEqual(Array.from(messages.values(), text), ['one', 'two', 'three']);
        });

        test(`${who} gets only the messages that are new, whoever speaks`, async () => {
            const [asked, more, said] = [
                { type: 'human', content: 'known', id: 'h1' },
                { type: 'human', content: 'by the node', id: 'h2' },
                { type: 'ai', content: 'answer', id: 'a1', tool_calls: [] },
            ];
            const input = nodeRun([asked, more, said], { messages: [asked] });
            const messages = rebuilt(sdk, tuplesOf(await frames(input, '--to', 'messages')));
            assert.deepEqual([...messages.keys()], ['h2', 'a1']);
        });
    });
}
