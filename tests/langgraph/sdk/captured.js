// A stream as LangGraph's own server sent it, and what may differ: ids, times, and where the
// decisions of docs/dialects.md (the dialect `messages`) are others than that server's.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../recordings/captures');

export function captured(name) {
    return fs
        .readFileSync(path.join(FOLDER, `js-server-${name}.sse`), 'utf8')
        .split(/\r?\n\r?\n/)
        .map((block) => ({
            event: /^event: (.*)$/m.exec(block)?.[1],
            data: /^data: (.*)$/m.exec(block)?.[1],
        }))
        .filter(({ event }) => event)
        .map(({ event, data }) => ({ event, data: JSON.parse(data) }));
}

const plainText = (text) =>
    text
        .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID')
        .replace(/\b[0-9a-f]{32}\b/g, 'HASH')
        .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME');

// What a server says of itself in every run's metadata.
const OWN = /^(langgraph_(version|plan|host|api_url)|user-agent|tags|name|metadata)$/;

function plain(value, key) {
    if (typeof value === 'string') return plainText(value);
    if (Array.isArray(value)) return value.map((v) => plain(v));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
        Object.entries(value)
            .filter(([k]) => key !== 'metadata' || !OWN.test(k))
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([k, v]) => [k, plain(v, k)]),
    );
}

// Of a delta, what is new in it; tool calls that are put together from chunks are the reader's.
function delta([message, metadata]) {
    const { type, tool_calls, invalid_tool_calls, ...rest } = message;
    const isDelta = type === 'ai' || type === 'AIMessageChunk';
    const told = plain({ metadata }).metadata;

    return [plain(isDelta ? { ...rest, type: 'ai' } : message), told];
}

// The parts without mode `events`, which is about runs and is compared by its names.
export function comparable(parts) {
    return parts
        .filter(({ event }) => !/^(events|tools)\b/.test(event) && event !== 'metadata')
        .map(({ event, data }) => {
            const [mode, ...namespace] = plainText(event).split('|');
            if (mode === 'messages') return { mode, data: delta(data) };
            return { mode: [mode, ...namespace].join('|'), data: plain(data) };
        });
}
