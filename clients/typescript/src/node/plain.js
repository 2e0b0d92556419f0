/**
 * JSON of what a graph yields: LangChain's messages flat, as LangGraph's servers write them, and
 * without values on which JSON.stringify throws.
 */

/** @param {any} value */
const isMessage = (value) =>
    typeof value === 'object' &&
    value !== null &&
    typeof value.toDict === 'function' &&
    (typeof value.getType === 'function' || typeof value._getType === 'function');

/** JSON.stringify has already called toJSON; the original value is still in `this[key]`.
 * @this {any} @param {string} key @param {any} value */
function flatten(key, value) {
    const raw = this[key];

    if (typeof value === 'bigint') return value.toString();
    if (typeof raw !== 'object' || raw === null) return value;
    if (isMessage(raw)) {
        const { type, data } = raw.toDict();
        return { ...data, type };
    }
    if (raw instanceof Error) return { error: raw.name, message: raw.message };
    return value;
}

/** The same for values that contain themselves. */
function flattenOnce() {
    /** @type {any[]} */
    const above = [];

    /** @this {any} @param {string} key @param {any} value */
    return function flattenHere(key, value) {
        while (above.length > 0 && above[above.length - 1] !== this) above.pop();
        const flat = flatten.call(this, key, value);
        if (typeof flat !== 'object' || flat === null) return flat;
        if (above.includes(flat)) return '[Circular]';
        above.push(flat);
        return flat;
    };
}

/** @param {unknown} value @returns {string} */
export function encode(value) {
    try {
        return JSON.stringify(value, flatten);
    } catch {
        return JSON.stringify(value, flattenOnce());
    }
}
