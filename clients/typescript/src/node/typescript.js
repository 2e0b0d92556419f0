/**
 * Loads TypeScript: with tsx if the project has it, else with Node itself, from 22.18 on.
 *
 * Node only strips the types, and resolves a file by its exact name.  Projects also import
 * `./words.js`, or `./words`, where the file is `words.ts`: the hooks below try these names.
 */
import module from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { load } from './peer.js';

const IS_TYPESCRIPT = /\.[cm]?tsx?$/;
const ADVICE = 'use Node 22.18 or newer, or npm install tsx';

/** @param {string} specifier @returns {string[]} what else the file may be called */
function otherNames(specifier) {
    const [, stem, kind] = /^(.*)\.([cm]?)jsx?$/.exec(specifier) ?? [];

    if (stem !== undefined) return [`${stem}.${kind}ts`, `${stem}.tsx`];
    return [`${specifier}.ts`, `${specifier}.tsx`, `${specifier}/index.ts`];
}

/** @type {any} what `module.registerHooks` takes */
const hooks = {
    resolve(/** @type {string} */ specifier, /** @type {any} */ context, /** @type {any} */ next) {
        try {
            return next(specifier, context);
        } catch (error) {
            if (!/^\.{1,2}\//.test(specifier)) throw error;
            for (const name of otherNames(specifier))
                try {
                    return next(name, context);
                } catch {
                    // The first error is the useful one.
                }
            throw error;
        }
    },
};

/** @param {string} file */
async function prepare(file) {
    const tsx = await load(path.dirname(file), 'tsx', './esm/api').catch(() => undefined);
    const { features, versions } = /** @type {any} */ (process);

    if (tsx) tsx.register();
    else if (features.typescript) /** @type {any} */ (module).registerHooks(hooks);
    else throw new Error(`${file} is TypeScript, which this Node ${versions.node} cannot read: ${ADVICE}`);
}

/** @param {string} file @returns {Promise<any>} its exports */
export async function importing(file) {
    if (IS_TYPESCRIPT.test(file)) await prepare(file);
    try {
        return await import(pathToFileURL(file).href);
    } catch (error) {
        const { code, message } = /** @type {any} */ (error);
        if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX' || (code === 'ERR_UNKNOWN_FILE_EXTENSION' && /tsx/.test(message)))
            throw new Error(`${file}: Node only takes types away, and there is more to do (${message}): npm install tsx`);
        throw error;
    }
}
