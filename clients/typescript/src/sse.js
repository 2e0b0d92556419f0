/**
 * Server-sent events, as the standard has them, from the bytes of a response.
 *
 * @typedef {{ id: string | undefined, event: string, data: string }} SseEvent
 */

/** Parses events from text that arrives in pieces of any size. */
export class SseParser {
    #rest = '';
    #hadCr = false;
    /** @type {string | undefined} */
    #id;
    #event = '';
    /** @type {string[]} */
    #data = [];
    /** Milliseconds to wait before reconnecting, if the server has sent `retry`.
     * @type {number | undefined} */
    retry;

    /** @param {string} text @returns {Generator<SseEvent>} */
    *feed(text) {
        // A CR at the end of a piece may be half of a CR LF.
        if (this.#hadCr && text.startsWith('\n')) text = text.slice(1);
        if (text === '') return;
        this.#hadCr = text.endsWith('\r');
        const lines = (this.#rest + text).split(/\r\n|\r|\n/);
        this.#rest = /** @type {string} */ (lines.pop());
        for (const line of lines) {
            const event = this.#line(line);
            if (event) yield event;
        }
    }

    /** @param {string} line */
    #line(line) {
        if (line === '') return this.#dispatch();
        const colon = line.indexOf(':');
        const name = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
        if (name === 'data') this.#data.push(value);
        else if (name === 'event') this.#event = value;
        else if (name === 'id' && !value.includes('\0')) this.#id = value;
        else if (name === 'retry' && /^\d+$/.test(value)) this.retry = Number(value);
        return undefined;
    }

    #dispatch() {
        const event = { id: this.#id, event: this.#event || 'message', data: this.#data.join('\n') };
        const isEvent = this.#data.length > 0;

        // Unlike a browser's, the id does not stay for the next event: events about the connection
        // have none.
        this.#id = undefined;
        this.#event = '';
        this.#data = [];
        return isEvent ? event : undefined;
    }
}
