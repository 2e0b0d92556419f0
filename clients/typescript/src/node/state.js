/** States of a thread in the format of LangGraph's servers, from a graph's snapshot or from a part of
 * its stream. */

/** The place of a checkpoint.  The metadata of a subgraph's name the checkpoints above it, which its place has too.
 * @param {any} config @param {any} [metadata] */
export function checkpointOf(config, metadata) {
    const place = config?.configurable;
    const above = metadata?.parents ?? {};
    const map = Object.keys(above).length > 0 ? { ...above, [place?.checkpoint_ns ?? '']: place?.checkpoint_id } : null;

    if (!place?.checkpoint_id) return null;
    return {
        thread_id: place.thread_id,
        checkpoint_id: place.checkpoint_id,
        checkpoint_ns: place.checkpoint_ns ?? '',
        checkpoint_map: map ?? place.checkpoint_map ?? null,
    };
}

/** Of a checkpoint's config, only its place is sent.
 * @param {any} config */
function slim(config) {
    if (!config) return config;
    const { thread_id, checkpoint_ns, checkpoint_id, checkpoint_map } = config.configurable ?? {};

    return { configurable: { thread_id, checkpoint_ns, checkpoint_id, checkpoint_map } };
}

/** @param {any} task */
function withPlace(task) {
    const place = task.state?.configurable;

    if (!place?.thread_id) return task;
    const { state: _, ...rest } = task;
    return {
        ...rest,
        checkpoint: {
            thread_id: place.thread_id,
            checkpoint_id: place.checkpoint_id ?? null,
            checkpoint_ns: place.checkpoint_ns ?? '',
            checkpoint_map: place.checkpoint_map ?? null,
        },
    };
}

/** @param {any} part */
function withPlaces({ parentConfig, ...part }) {
    return {
        ...part,
        config: slim(part.config),
        parent_config: slim(parentConfig),
        checkpoint: checkpointOf(part.config),
        parent_checkpoint: checkpointOf(parentConfig),
        tasks: part.tasks.map(withPlace),
    };
}

/** The payload of a part as LangGraph's servers send it: a checkpoint says its place, and that of its
 * parent and of its subgraphs, besides their configs.
 * @param {string} mode @param {any} payload */
export function shown(mode, payload) {
    if (mode === 'checkpoints' && payload?.tasks) return withPlaces(payload);
    if (mode !== 'debug') return payload;
    if (payload?.type === 'checkpoint') return { ...payload, payload: withPlaces(payload.payload) };
    if (payload?.type === 'task_result') return { ...payload, payload: withPlace(payload.payload) };
    return payload;
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
    const above = checkpointOf(snapshot.parentConfig);

    return {
        values: snapshot.values,
        next: snapshot.next,
        tasks: snapshot.tasks.map(taskOf),
        metadata: snapshot.metadata ?? {},
        created_at: snapshot.createdAt,
        checkpoint: checkpointOf(snapshot.config, snapshot.metadata),
        parent_checkpoint: above && { ...above, checkpoint_map: null }, // as getState() has it
    };
}

/** A state and those of its subgraphs, as far as `getState()` has read them, each with the places of the
 * others instead of their states.
 * @param {any} snapshot
 * @returns {any[]} */
export function statesOf(snapshot) {
    /** @type {any[]} */
    const below = snapshot.tasks.map((/** @type {any} */ t) => t.state).filter((/** @type {any} */ s) => s?.tasks);
    const tasks = snapshot.tasks.map((/** @type {any} */ task) => {
        if (!task.state?.tasks) return task;
        const { thread_id, checkpoint_ns } = task.state.config.configurable;
        return { ...task, state: { configurable: { thread_id, checkpoint_ns } } };
    });

    return [{ ...snapshot, tasks }, ...below.flatMap(statesOf)];
}
