/** States of a thread in the format of LangGraph's servers, from a graph's snapshot or from a part of
 * its stream. */

/** @param {any} config */
export function checkpointOf(config) {
    const place = config?.configurable;

    if (!place?.checkpoint_id) return null;
    return {
        thread_id: place.thread_id,
        checkpoint_id: place.checkpoint_id,
        checkpoint_ns: place.checkpoint_ns ?? '',
        checkpoint_map: place.checkpoint_map ?? null,
    };
}

/** @param {any} task */
function taskOf(task) {
    const inner = task.state;
    const isSnapshot = inner != null && 'values' in inner;

    return {
        id: task.id,
        name: task.name,
        error: task.error ?? null,
        interrupts: task.interrupts ?? [],
        path: task.path,
        checkpoint: inner?.configurable ?? null,
        state: isSnapshot ? stateOf(inner) : null,
        result: task.result ?? null,
    };
}

/** @param {any} snapshot what `getState()` gives, or a part of the mode `checkpoints`
 * @returns {any} */
export function stateOf(snapshot) {
    return {
        values: snapshot.values,
        next: snapshot.next,
        tasks: snapshot.tasks.map(taskOf),
        metadata: snapshot.metadata ?? {},
        created_at: snapshot.createdAt,
        checkpoint: checkpointOf(snapshot.config),
        parent_checkpoint: checkpointOf(snapshot.parentConfig),
    };
}
