// Is each value of the given type?  Compiles them all, as one file, and says what is wrong
// with which.
//
//     node compile.js TYPESCRIPT EVENTS.D.TS FOLDER  < [{"type","value"}, …]  > [[complaint, …], …]
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';

const [typescript, declarations, folder] = process.argv.slice(2);
const ts = createRequire(import.meta.url)(typescript);
const options = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ['lib.es2022.d.ts'],
    types: [],
};

const values = JSON.parse(readFileSync(0, 'utf8'));
const file = join(folder, 'frames.ts');
const from = relative(folder, declarations).replace(/\.d\.ts$/, '');
// One line for each: its number is the value's.
writeFileSync(
    file,
    [
        `import type * as Events from ${JSON.stringify(from)};`,
        ...values.map(({ type, value }, i) => `export const v${i}: Events.${type} = ${value};`),
    ].join('\n'),
);

const program = ts.createProgram([file, declarations], options);
const complaints = values.map(() => []);
for (const d of ts.getPreEmitDiagnostics(program)) {
    const text = ts.flattenDiagnosticMessageText(d.messageText, '\n');
    const line = d.file && ts.getLineAndCharacterOfPosition(d.file, d.start).line;
    if (d.file?.fileName !== file || line === 0) {
        console.error(`${d.file?.fileName}:${line + 1}: ${text}`);
        process.exit(1);
    }
    complaints[line - 1].push(text);
}
console.log(JSON.stringify(complaints));
