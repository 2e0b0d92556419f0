// Everything that LangChain's documentation exports as a graph, with models that need no key.
import { AIMessage, RemoveMessage } from '@langchain/core/messages';
import { RunnableLambda } from '@langchain/core/runnables';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import {
    Annotation,
    END,
    entrypoint,
    getPreviousState,
    interrupt,
    MemorySaver,
    MessagesAnnotation,
    pushMessage,
    START,
    StateGraph,
    task,
} from '@langchain/langgraph';
import { createDeepAgent } from 'deepagents';
import { createAgent, FakeToolCallingModel } from 'langchain';

const Said = Annotation.Root({
    said: Annotation({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});
const builderOf = (word, node = 'say') =>
    new StateGraph(Said).addNode(node, () => ({ said: [word] })).addEdge(START, node).addEdge(node, END);
const silent = () => new FakeToolCallingModel({ toolCalls: [[]] });

export const compiled = builderOf('compiled').compile();
export const configured = builderOf('configured').compile({ checkpointer: new MemorySaver() }).withConfig({ tags: ['x'] });
export const builder = builderOf('builder');
export const promised = Promise.resolve(builderOf('promised'));
export default builderOf('default');

// Functions that make one
export const makes = () => builderOf('makes');
export const makesLater = async () => builderOf('makesLater').compile();
export const makesFor = ({ configurable }) => builderOf(`for ${configurable.colour} ${configurable.graph_id}`);
export const makesWith = async ({ configurable }, { accessContext, context, store }) =>
    builderOf([configurable.graph_id, accessContext, context?.size, typeof store.get].join(' '));
export const makesNode = ({ configurable }) => builderOf('node', configurable?.node ?? 'none');
export const makesAgent = async () => createAgent({ model: silent(), tools: [] });

// Agents
export const agent = createAgent({ model: silent(), tools: [], checkpointer: new MemorySaver() });
export const agentWith = createAgent({ model: silent(), tools: [] }).withConfig({ recursionLimit: 50 });
export const deep = createDeepAgent({ model: silent() });

// What a run gets of its context, and messages that change
const Given = Annotation.Root({ given: Annotation() });
export const contexts = new StateGraph({ state: Given, context: Annotation.Root({ size: Annotation() }) })
    .addNode('tell', (_state, { context, configurable }) => ({ given: [context?.size, configurable.size] }))
    .addEdge(START, 'tell')
    .compile();
export const pushes = new StateGraph(MessagesAnnotation)
    .addNode('push', (_state, config) => {
        for (const content of ['10 %', '50 %', '50 %', '100 %']) pushMessage(new AIMessage({ id: 'p', content }), config);
        pushMessage(new RemoveMessage({ id: 'p' }), { ...config, stateKey: null });
        return {};
    })
    .addEdge(START, 'push')
    .compile();

// The functional API
const doubled = task('doubled', async (n) => n * 2);
export const functional = entrypoint({ name: 'functional', checkpointer: new MemorySaver() }, async ({ n }) => {
    const now = (getPreviousState() ?? 0) + (await doubled(n));
    const sure = n > 100 ? interrupt({ question: 'That much?' }) : 'yes';

    return entrypoint.final({ value: { now, sure }, save: now });
});

// Runnables that are no graph
export const lambda = RunnableLambda.from(({ n }) => ({ tripled: n * 3 }));
export const chain = RunnableLambda.from(({ text }) => text).pipe(
    new FakeListChatModel({ responses: ['one two'] }),
);
export const makesLambda = () => lambda;
