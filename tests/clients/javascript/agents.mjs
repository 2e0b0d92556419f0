// Agents of LangChain, with models that need no key.
import { MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { getLogger } from '@langchain/langgraph-sdk/logging';
import { createDeepAgent } from 'deepagents';
import { createAgent, createMiddleware, FakeToolCallingModel, humanInTheLoopMiddleware, tool } from 'langchain';
import { z } from 'zod';

const logger = getLogger(); // as modules do: while they are loaded
logger.info('the module is loaded', { agents: 3 });

const calls = (...turns) => new FakeToolCallingModel({ toolCalls: turns });

const send = tool(
    ({ to }) => {
        logger.warn('sending');
        return `sent to ${to}`;
    },
    { name: 'send', description: 'Sends a mail.', schema: z.object({ to: z.string() }) },
);

// A tool that a person has to approve, and a state of a middleware's own.
const counted = createMiddleware({
    name: 'Counted',
    stateSchema: z.object({ turns: z.number().default(0) }),
    afterModel: (state) => ({ turns: state.turns + 1 }),
});

export const agent = createAgent({
    model: calls([{ name: 'send', args: { to: 'ann' }, id: 'c1' }], []),
    tools: [send],
    checkpointer: new MemorySaver(), // the server's takes its place, as with LangGraph's server
    middleware: [counted, humanInTheLoopMiddleware({ interruptOn: { send: true } })],
});

// Its tool is executed by the page that reads it: a tool without a function asks for its result.
const locate = tool({ name: 'locate', description: 'Where the user is.', schema: z.object({ exact: z.boolean() }) });
export const located = createAgent({ model: calls([{ name: 'locate', args: { exact: true }, id: 'c3' }], []), tools: [locate] });

// One that gives work to another, which is a graph below its own and has a tool.
const worker = createAgent({ model: calls([{ name: 'send', args: { to: 'bob' }, id: 'c5' }], []), tools: [send], name: 'worker' });
export const leads = createDeepAgent({
    model: calls([{ name: 'task', args: { description: 'tell bob', subagent_type: 'worker' }, id: 'c4' }], []),
    subagents: [{ name: 'worker', description: 'Works.', runnable: worker }],
});

// One that gives work to another, which is a graph below its own.
const helper = createAgent({ model: calls([]), tools: [], name: 'helper' });

export const deep = createDeepAgent({
    model: calls([{ name: 'task', args: { description: 'look', subagent_type: 'helper' }, id: 'c2' }], []),
    subagents: [{ name: 'helper', description: 'Helps.', runnable: helper }],
});

// The agent as a node of a graph.
export const outer = new StateGraph(MessagesAnnotation)
    .addNode('inner', createAgent({ model: calls([]), tools: [] }).graph)
    .addEdge(START, 'inner');

export const made = async ({ configurable }) =>
    createAgent({ model: calls([]), tools: [], systemPrompt: `For ${configurable.graph_id} ${configurable.colour}` });
