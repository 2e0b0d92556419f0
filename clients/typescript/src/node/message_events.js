/**
 * Messages as the events that stream transformers know: a message's start, its content blocks, its finish.
 *
 *     [chunk, metadata] ─▶ message-start, content-block-start, content-block-delta …
 *     the end of its task ─▶ content-block-finish …, message-finish
 *
 * Mode `messages` gives pieces without an end, so a message ends with the task that it is from.
 */

/**
 * @typedef {{ index: number, content: any }} Block
 * @typedef {{ namespace: string[], node?: string, id?: string, run?: string, blocks: Map<string, Block>, usage?: any }} Open
 */

/** @param {Open} open @param {any} data */
const eventOf = ({ namespace, node, run }, data) => ({
    type: 'event',
    seq: 0,
    method: 'messages',
    params: { namespace, timestamp: Date.now(), ...(node ? { node } : {}), data: run ? { ...data, run_id: run } : data },
});

/** The blocks of a piece, each with the key under which its further pieces come.
 * @param {any} message @returns {[string, any][]} */
function blocksOf(message) {
    const { content, tool_call_chunks: calls = [] } = message;
    const parts = typeof content === 'string' ? (content === '' ? [] : [{ type: 'text', text: content }]) : (content ?? []);
    /** @type {[string, any][]} */
    const blocks = parts.map((/** @type {any} */ part) => [`${part.type} ${part.index ?? 0}`, part]);

    // A text and a call may have the same index: they are told apart by their type.
    for (const call of calls) blocks.push([`call ${call.index ?? call.id ?? 0}`, { ...call, type: 'tool_call_chunk' }]);
    return blocks;
}

/** @param {any} block */
function startOf(block) {
    if (block.type === 'text') return { type: 'text', text: '' };
    if (block.type === 'reasoning') return { type: 'reasoning', reasoning: '' };
    if (block.type !== 'tool_call_chunk') return block;
    const { id, name } = block;
    return { type: 'tool_call_chunk', ...(id ? { id } : {}), ...(name ? { name } : {}), args: '' };
}

/** Adds a piece to its block. @param {any} to @param {any} piece @returns {any} the delta; undefined: none */
function add(to, piece) {
    if (piece.type === 'text') {
        to.text += piece.text ?? '';
        return { type: 'text-delta', text: piece.text ?? '' };
    }
    if (piece.type === 'reasoning') {
        to.reasoning += piece.reasoning ?? '';
        return { type: 'reasoning-delta', reasoning: piece.reasoning ?? '' };
    }
    if (piece.type !== 'tool_call_chunk') return undefined;
    to.args += piece.args ?? '';
    to.id ??= piece.id;
    to.name ??= piece.name;
    return { type: 'block-delta', fields: { ...to } };
}

/** A block when it is whole: the arguments of a call are parsed. @param {any} content */
function wholeOf(content) {
    if (content.type !== 'tool_call_chunk') return content;
    const { id, name, args } = content;

    try {
        return { type: 'tool_call', id, name, args: JSON.parse(args || '{}') };
    } catch {
        return { type: 'invalid_tool_call', id, name, args };
    }
}

/** @param {any} sum @param {any} usage */
function addUsage(sum, usage) {
    if (!usage) return sum;
    const total = { ...sum, ...usage };

    for (const key of ['input_tokens', 'output_tokens', 'total_tokens']) total[key] = (sum?.[key] ?? 0) + (usage[key] ?? 0);
    return total;
}

export class MessageEvents {
    /** @type {Map<string, Open>} */
    #open = new Map();

    /** @param {string[]} namespace @param {any} message @param {any} metadata @returns {any[]} */
    take(namespace, message, metadata) {
        const isPiece = /Chunk$/.test(message.constructor?.name ?? '');
        const key = JSON.stringify([namespace, message.id ?? null]);
        const type = typeof message.getType === 'function' ? message.getType() : message.type;
        /** @type {any[]} */
        const events = [];
        let open = this.#open.get(key);

        if (!open) {
            open = { namespace, node: metadata?.langgraph_node, run: metadata?.run_id, id: message.id, blocks: new Map() };
            this.#open.set(key, open);
            events.push(eventOf(open, {
                event: 'message-start',
                ...(message.id ? { id: message.id } : {}),
                ...(type && type !== 'ai' ? { role: type } : {}),
                ...(message.tool_call_id ? { tool_call_id: message.tool_call_id } : {}),
            }));
        }
        for (const [name, piece] of blocksOf(message)) this.#piece(open, name, piece, events);
        open.usage = addUsage(open.usage, message.usage_metadata);
        if (!isPiece) events.push(...this.#finish(key, open));
        return events;
    }

    /** @param {Open} open @param {string} name @param {any} piece @param {any[]} events */
    #piece(open, name, piece, events) {
        let block = open.blocks.get(name);

        if (!block) {
            block = { index: open.blocks.size, content: startOf(piece) };
            open.blocks.set(name, block);
            events.push(eventOf(open, { event: 'content-block-start', index: block.index, content: { ...block.content } }));
        }
        const delta = add(block.content, piece);
        if (delta) events.push(eventOf(open, { event: 'content-block-delta', index: block.index, delta }));
    }

    /** @param {string} key @param {Open} open */
    #finish(key, open) {
        const blocks = [...open.blocks.values()];

        this.#open.delete(key);
        return [
            ...blocks.map(({ index, content }) => eventOf(open, { event: 'content-block-finish', index, content: wholeOf(content) })),
            eventOf(open, { event: 'message-finish', ...(open.usage ? { usage: open.usage } : {}) }),
        ];
    }

    /** Ends the messages of a namespace and of those inside it. @param {string[]} namespace */
    finish(namespace) {
        const events = [];

        for (const [key, open] of this.#open)
            if (namespace.every((segment, i) => open.namespace[i] === segment)) events.push(...this.#finish(key, open));
        return events;
    }
}
