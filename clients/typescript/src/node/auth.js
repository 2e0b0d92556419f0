/**
 * A project's own authentication and authorization: the `Auth` of @langchain/langgraph-sdk/auth that
 * its langgraph.json names.
 */

/** @typedef {{ identity: string, permissions: string[], [key: string]: any }} User */
/** @typedef {{ user: User, permissions: string[] }} Caller */

/** LangGraph Studio's user, which needs no credentials on a developer's machine.
 * @type {Caller} */
const STUDIO = {
    user: {
        kind: 'StudioUser',
        display_name: 'langgraph-studio-user',
        identity: 'langgraph-studio-user',
        permissions: [],
        is_authenticated: true,
    },
    permissions: [],
};

/** What a handler has thrown to refuse a request. */
export class Refusal extends Error {
    /** @param {number} status @param {string} detail @param {Record<string, string>} [headers] */
    constructor(status, detail, headers = {}) {
        super(detail);
        this.status = status;
        this.headers = headers;
    }
}

/** @param {any} error @returns {Refusal} */
function refusalOf(error) {
    if (error instanceof Refusal) return error;
    if (typeof error !== 'object' || error === null || !('status' in error) || !('headers' in error)) throw error;
    return new Refusal(error.status, error.message || 'Unauthorized', Object.fromEntries(new Headers(error.headers ?? {})));
}

/** What a handler says of a user, in one form.
 * @param {any} said @returns {Caller} */
function callerOf(said) {
    if (typeof said === 'string')
        return {
            permissions: [],
            user: { permissions: [], identity: said, display_name: said, is_authenticated: true },
        };
    if (typeof said?.identity !== 'string')
        throw new Error('authenticate() must return a text, or an object with `identity`');
    const permissions = Array.isArray(said.permissions) ? said.permissions : [];
    return {
        permissions,
        user: {
            ...said,
            permissions,
            is_authenticated: said.is_authenticated ?? true,
            display_name: said.display_name ?? said.identity,
        },
    };
}

/** Callers by the headers that name them, for a while (`auth.cache` of langgraph.json). */
class Cache {
    /** @param {{ cache_keys?: string[], ttl_seconds?: number, max_size?: number }} [options] */
    constructor({ cache_keys = [], ttl_seconds = 60, max_size = 1000 } = {}) {
        this.names = cache_keys;
        this.life = ttl_seconds * 1000;
        this.size = max_size;
        /** @type {Map<string, { caller: Caller, until: number }>} */
        this.known = new Map();
    }

    /** @param {Headers} headers @returns {string | undefined} */
    key(headers) {
        const values = this.names.map((name) => headers.get(name));
        return values.some((value) => value !== null) ? JSON.stringify(values) : undefined;
    }

    /** @param {string | undefined} key */
    get(key) {
        const found = key === undefined ? undefined : this.known.get(key);
        return found && found.until > Date.now() ? found.caller : undefined;
    }

    /** @param {string | undefined} key @param {Caller} caller */
    put(key, caller) {
        if (key === undefined) return;
        this.known.delete(key);
        this.known.set(key, { caller, until: Date.now() + this.life });
        if (this.known.size > this.size) this.known.delete(/** @type {string} */ (this.known.keys().next().value));
    }
}

export class Handlers {
    /** @param {any} auth @param {{ disable_studio_auth?: boolean, cache?: any }} [options] */
    constructor(auth, options = {}) {
        if (!auth || typeof auth !== 'object' || !('~handlerCache' in auth))
            throw new Error('it is no Auth of @langchain/langgraph-sdk/auth');
        this.handlers = auth['~handlerCache'];
        this.knowsStudio = !options.disable_studio_auth;
        this.cache = new Cache(options.cache);
    }

    /** @param {Request} request @returns {Promise<Caller>} */
    async authenticate(request) {
        if (this.knowsStudio && request.headers.get('x-auth-scheme') === 'langsmith') return STUDIO;
        if (!this.handlers.authenticate) throw new Refusal(401, 'Unauthorized');
        const key = this.cache.key(request.headers);
        const known = this.cache.get(key);
        if (known) return known;
        try {
            const caller = callerOf(await this.handlers.authenticate(request));
            this.cache.put(key, caller);
            return caller;
        } catch (error) {
            throw refusalOf(error);
        }
    }

    /**
     * The filters of the most specific handler of an event; it may change the value.
     * @param {Caller} caller @param {string} resource @param {string} action @param {any} value
     */
    async authorize(caller, resource, action, value) {
        const { callbacks = {} } = this.handlers;
        const name = [`${resource}:${action}`, resource, `*:${action}`, '*'].find((each) => callbacks[each]);

        if (!name) return null;
        try {
            const { user, permissions } = structuredClone(caller);
            const said = await callbacks[name]({ event: `${resource}:${action}`, resource, action, value, user, permissions });
            if (said === false) throw new Refusal(403, 'Forbidden');
            if (said === undefined || said === null || said === true) return null;
            if (typeof said !== 'object')
                throw new Refusal(500, `Auth handler returned invalid result. Expected filter object, null, undefined or boolean. Got "${typeof said}" instead.`);
            return said;
        } catch (error) {
            throw refusalOf(error);
        }
    }

    /**
     * Answers a question of the server: who sends this request, and may it do that?
     * @param {any} question
     */
    async answer({ request, user, permissions, events, each }) {
        try {
            const caller = request ? await this.authenticate(requestOf(request)) : { user, permissions };
            const results = [];
            for (const { resource, action, value } of events) {
                if (resource === 'crons' && action === 'create') value.user_id = caller.user.identity;
                try {
                    results.push({ filters: await this.authorize(caller, resource, action, value), value });
                } catch (error) {
                    if (!each || !(error instanceof Refusal)) throw error;
                    results.push({ status: error.status }); // the others are answered all the same
                }
            }
            return { user: caller.user, permissions: caller.permissions, results };
        } catch (error) {
            if (error instanceof Refusal) return { status: error.status, detail: error.message, headers: error.headers };
            console.error(error);
            return { status: 500, detail: 'Internal Server Error', headers: {} };
        }
    }
}

/** @param {{ method: string, target: string, headers: [string, string][] }} described */
function requestOf({ method, target, headers }) {
    const all = new Headers(headers);
    return new Request(new URL(target, `http://${all.get('host') ?? 'localhost'}`), { method, headers: all });
}
