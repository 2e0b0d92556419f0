// LangGraph's own JavaScript dev server, on a port of our choice.
import { startServer } from '@langchain/langgraph-api/server';

const port = Number(process.argv[2]);

await startServer({ port, nWorkers: 100, host: '127.0.0.1', cwd: process.cwd(), graphs: { agent: './graph.mjs:graph' } });
