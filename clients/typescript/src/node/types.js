/**
 * A process that reads the types of a graph's file, answers with its schemas and ends.
 *
 * A compiler takes seconds and hundreds of megabytes, which the process with the graph's runs must not.
 * What the compiler prints goes to standard error.
 */
import path from 'node:path';

import { load } from './peer.js';

const [sourceFile, exportSymbol] = process.argv.slice(2);

process.once('disconnect', () => process.exit()); // nobody waits any more

async function main() {
    const { getStaticGraphSchema } = await load(path.dirname(sourceFile), '@langchain/langgraph-api', './schema');

    return { schemas: await getStaticGraphSchema({ sourceFile, exportSymbol }, { mainThread: true }) };
}

main()
    .catch((error) => ({ error: error instanceof Error ? error.message : String(error) }))
    .then((said) => process.send?.(said, () => process.exit()));
