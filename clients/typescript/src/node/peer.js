/**
 * Finds LangGraph where the graph's own project has it, so that both use the same one.
 *
 * The kit may stand anywhere (installed beside the graph, or in /usr/share), and an `import` in
 * it would look there.
 */
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** @param {any} entry of a package.json's exports @returns {string | undefined} */
function importable(entry) {
    if (typeof entry === 'string') return entry;
    for (const condition of ['node', 'import', 'default']) {
        const found = entry?.[condition] && importable(entry[condition]);
        if (found) return found;
    }
    return undefined;
}

/**
 * Imports `name` (and perhaps an entry such as `./zod/schema`) as a module in `folder` would.
 * @param {string} folder @param {string} name @param {string} [entry]
 * @returns {Promise<any>}
 */
export async function load(folder, name, entry = '.') {
    const places = createRequire(path.join(folder, 'x.js')).resolve.paths(name) ?? [];

    for (const place of places) {
        const home = path.join(place, name);
        const about = path.join(home, 'package.json');
        if (!fs.existsSync(about)) continue;
        const { exports, main } = JSON.parse(fs.readFileSync(about, 'utf8'));
        const file = importable(exports?.[entry]) ?? (exports || entry !== '.' ? undefined : main);
        if (file) return import(pathToFileURL(path.join(fs.realpathSync(home), file)).href);
    }
    throw new Error(`${name} is not installed in ${folder}: npm install ${name}`);
}

/** @param {string} folder */
export const langgraph = (folder) => load(folder, '@langchain/langgraph');
