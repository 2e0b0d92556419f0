// What was said in a recording, read without any help of spoolwire.
import { recording } from './filter.js';

// JSON lines, or the data of server-sent events.  Some lines of some recordings are broken.
function* recorded(name) {
    for (const line of recording(name).toString().split(/\r?\n/)) {
        try {
            yield JSON.parse(line.replace(/^data: /, ''));
        } catch {
            continue;
        }
    }
}

const TYPES = {
    AIMessage: 'ai',
    HumanMessage: 'human',
    SystemMessage: 'system',
    ToolMessage: 'tool',
};

// A message, flat, out of the encodings that lose nothing: {lc,kwargs}, {type,data}, flat.
function flat(message) {
    if (message?.lc !== undefined) {
        const name = message.id.at(-1);
        return { ...message.kwargs, type: TYPES[name] ?? name };
    }
    return message?.data?.content !== undefined
        ? { ...message.data, type: message.type }
        : message;
}

// The final message of every model run that told its end; a wrapping model repeats its id.
export function answers(name) {
    return Array.from(recorded(name))
        .filter(({ event }) => event === 'on_chat_model_end')
        .map(({ data }) => flat(data.output))
        .filter((message) => message?.id !== undefined);
}

// The [message, metadata] tuples of stream mode `messages`.
export function tuples(name) {
    return Array.from(recorded(name))
        .filter(({ mode }) => mode === 'messages')
        .map(({ payload: [message, metadata] }) => [flat(message), metadata]);
}
