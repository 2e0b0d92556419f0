/**
 * Bundles the components of a project (`ui` of its langgraph.json) for the pages that show them, as
 * LangGraph's server does: with `@langchain/langgraph-ui` of the project.
 *
 *     LANGGRAPH_UI='{"agent": "./ui.tsx"}' node ui.js FOLDER [--once]
 *
 * Writes FOLDER/public/NAME/entrypoint.js and styles, again whenever a file changes, until standard input
 * ends: with the server that has started it.
 */
import { load } from './peer.js';

const [output, once] = process.argv.slice(2);

async function main() {
    const ui = await load(process.cwd(), '@langchain/langgraph-ui');
    const defs = JSON.parse(process.env.LANGGRAPH_UI ?? '{}');
    const config = JSON.parse(process.env.LANGGRAPH_UI_CONFIG ?? '{}');

    if (once === '--once') await ui.build({ cwd: process.cwd(), defs, config, output });
    else await ui.watch({ cwd: process.cwd(), defs, config, output });
}

process.stdin.resume().once('end', () => process.exit());
main().catch((error) => {
    console.error(`components of 'ui' are not served: ${error instanceof Error ? error.message : error}`);
    process.exit(1);
});
