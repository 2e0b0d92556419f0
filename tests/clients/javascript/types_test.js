// The package's types: the sources match them, and users get them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { project } from '../../lib/server.js';

const KIT = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../../clients/typescript');
let folder;

before(() => {
    folder = project();
    fs.cpSync(KIT, path.join(folder, 'spoolwire'), { recursive: true });
});
after(() => fs.rmSync(folder, { recursive: true }));

function tsc(...words) {
    const program = path.join(folder, 'node_modules/typescript/bin/tsc');
    const { status, stdout } = spawnSync(process.execPath, [program, ...words], { cwd: folder, encoding: 'utf8' });
    return { status, stdout };
}

const uses = (line) => `
    import { subscribe } from './spoolwire/types/index.js';
    import type { AgentEvent } from './spoolwire/events.js';
    import { Worker } from './spoolwire/types/node/worker.js';
    for await (const { id, event, data } of subscribe('j', { dialect: 'agent', after: '5' })) {
        const typed: AgentEvent = data;
        console.log(id?.length, event.length, typed.type);
    }
    await (await Worker.load({ a: './a.mjs:graph' }, { concurrency: 3 })).run();
    ${line}`;

test('the sources fit their types, and the package has them', () => {
    const options = ['--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--outDir', 'spoolwire/types'];
    const made = tsc('-p', 'spoolwire', '--types', 'node', ...options, '--rootDir', 'spoolwire/src');
    assert.deepEqual(made, { status: 0, stdout: '' });
    const check = (line) => {
        fs.writeFileSync(path.join(folder, 'uses.mts'), uses(line));
        return tsc('uses.mts', '--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2022', '--types', 'node');
    };
    assert.deepEqual(check(''), { status: 0, stdout: '' });
    assert.match(check("subscribe('j', { dialekt: 'agent' });").stdout, /dialekt/);
});
