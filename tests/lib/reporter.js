// One line per test, what went wrong below it, and the counts as scripts/check reads them.
import { inspect } from 'node:util';

const MAX_LINES = 60; // of one failure: a diff of two runs can have thousands

function told(error) {
    const text = error?.cause?.stack ?? error?.cause ?? error?.message ?? inspect(error);
    const lines = String(text).split('\n');
    const rest = lines.length > MAX_LINES ? [`… ${lines.length - MAX_LINES} more lines`] : [];
    return [...lines.slice(0, MAX_LINES), ...rest].map((line) => `    ${line}\n`).join('');
}

export default async function* reporter(events) {
    let passed = 0;
    let failed = 0;

    for await (const { type, data } of events) {
        // A suite fails because of its tests, which have been counted; but also by itself.
        const suite = data?.details?.type === 'suite';
        const counted = suite && data.details.error?.failureType === 'subtestsFailed';

        if (type === 'test:pass' && !suite && !/_test\.m?js$/.test(data.name)) {
            // (A file in which no test was asked for passes under its own name.)
            passed++;
            yield `ok ${data.name}\n`;
        } else if (type === 'test:fail' && !counted) {
            failed++;
            yield `not ok ${data.name}\n${told(data.details.error)}`;
        } else if (type === 'test:stderr' || type === 'test:stdout') {
            yield `    ${data.message.trimEnd()}\n`;
        }
    }
    yield `${passed} passed, ${failed} failed\n`;
}
