/**
 * What becomes of the tasks of a checkpoint.
 *
 * It is known when the graph makes the next checkpoint from it, and stored with the state of that: so each
 * state is stored once, and the server's history shows results.
 */

const WHOLE = ['__return__', '__end__']; // channels whose value is the whole result
const OF_GRAPH = /^(__|branch:|join:)/; // channels that are no part of the state

/** @param {Record<string, unknown>} writes by their channels
 * @returns {unknown} null when there are none, as in LangGraph's own history */
function resultOf(writes) {
    const name = WHOLE.find((key) => key in writes);

    if (name !== undefined) return writes[name];
    return Object.keys(writes).length > 0 ? writes : null;
}

/** @typedef {{ id: string, tasks: Map<string, any>, ended?: any }} Newest the newest checkpoint of a namespace */

export class Outcomes {
    /** @type {Map<string, Newest>} */
    #newest = new Map();
    /** By checkpoint, then by task. @type {Map<string, Map<string, [string, unknown][]>>} */
    #writes = new Map();

    /** Told by the saver: tasks that the stream hides, such as `__start__`, are known by their writes.
     * @param {string} checkpoint @param {string} task @param {[string, unknown][]} writes */
    wrote(checkpoint, task, writes) {
        if (!this.#writes.has(checkpoint)) this.#writes.set(checkpoint, new Map());
        this.#writes.get(checkpoint)?.set(task, writes);
    }

    /** A part of the stream mode `tasks`: a task begins, or has ended.
     * @param {string[]} namespace @param {any} part */
    heard(namespace, part) {
        const task = this.#newest.get(namespace.join('|'))?.tasks.get(part.id);

        // Calls of tasks of the functional API are in no checkpoint.
        if (!task || !('result' in part)) return;
        if (part.interrupts?.length) task.interrupts = part.interrupts;
        else task.isEnded = true;
        // A task that has asked has no result in LangGraph's own history, also when it was answered.
        if (!task.interrupts.length) task.result = resultOf(part.result ?? {});
    }

    /** Adds to a new state what became of the tasks before it.
     * @param {any} state */
    next(state) {
        const { checkpoint_ns: ns, checkpoint_id: id } = state.checkpoint;
        const before = this.#newest.get(ns);
        let ended;

        if (before && state.parent_checkpoint?.checkpoint_id === before.id)
            ended = { checkpoint_id: before.id, tasks: [...before.tasks.values()].map((t) => this.#ended(before.id, t)) };
        if (before) this.#writes.delete(before.id);
        this.#newest.set(ns, { id, tasks: new Map(state.tasks.map((/** @type {any} */ t) => [t.id, { ...t }])), ended });
        return this.with(state);
    }

    /** The same when a state is stored once more.
     * @param {any} state */
    with(state) {
        const newest = this.#newest.get(state.checkpoint.checkpoint_ns);

        if (!newest?.ended || newest.id !== state.checkpoint.checkpoint_id) return state;
        return { ...state, ended: newest.ended };
    }

    /** @param {string} checkpoint @param {any} task */
    #ended(checkpoint, { isEnded, ...task }) {
        const writes = this.#writes.get(checkpoint)?.get(task.id);

        if (isEnded || task.result != null || task.interrupts.length || !writes) return task;
        const ofState = writes.filter(([channel]) => WHOLE.includes(channel) || !OF_GRAPH.test(channel));
        return { ...task, result: resultOf(Object.fromEntries(ofState)) };
    }
}
