/**
 * The events of one job of a pull worker, in numbered batches: a batch without an answer is
 * sent again with the same number, so that it is stored once.
 *
 * While the server cannot be reached lines wait here, up to `max` bytes; a graph that sends more has
 * to wait.
 */
const BATCH_BYTES = 1024 * 1024;
const SPOOL_BYTES = 64 * 1024 * 1024;

export class Outbox {
    /** @type {string[]} */
    #lines = [];
    #bytes = 0;
    #seq;
    /** @type {Promise<void> | undefined} */
    #sending;
    /** @type {(() => void)[]} */
    #waiting = [];
    /** @type {unknown} */
    #failure;

    /**
     * @param {(batch: string, seq: number) => Promise<void>} send throws when the job is lost
     * @param {number} seq of the first batch
     * @param {number} [max]
     */
    constructor(send, seq, max = SPOOL_BYTES) {
        this.send = send;
        this.#seq = seq;
        this.max = max;
    }

    /** @param {string} line JSON @returns {void | Promise<void>} a promise when there is no room */
    put(line) {
        if (this.#failure) return undefined;
        this.#lines.push(line);
        this.#bytes += line.length + 1;
        this.#sending ??= this.#drain();
        if (this.#bytes <= this.max) return undefined;
        return new Promise((resolve) => this.#waiting.push(resolve));
    }

    #batch() {
        let n = 0;
        let bytes = 0;

        while (n < this.#lines.length && (n === 0 || bytes < BATCH_BYTES))
            bytes += this.#lines[n++].length + 1;
        return { text: this.#lines.splice(0, n).join('\n') + '\n', bytes };
    }

    async #drain() {
        await undefined; // events of one turn of the event loop go into one batch
        try {
            while (this.#lines.length > 0) {
                const { text, bytes } = this.#batch();
                await this.send(text, this.#seq);
                this.#seq += 1;
                this.#bytes -= bytes;
                if (this.#bytes <= this.max) for (const go of this.#waiting.splice(0)) go();
            }
        } catch (error) {
            this.#failure = error;
            this.#lines = [];
            for (const go of this.#waiting.splice(0)) go();
        } finally {
            this.#sending = undefined;
        }
    }

    /** Waits until all is stored; throws when that is impossible. */
    async flush() {
        while (this.#sending) await this.#sending;
        if (this.#failure) throw this.#failure;
    }
}
