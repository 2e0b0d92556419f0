// A graph that chats, and asks before it sends anything: say "send it".
//
// The model is made up, so that no key is needed. Put a real one in its place:
//   import { ChatOpenAI } from "@langchain/openai";
//   const model = new ChatOpenAI({ model: "gpt-4o-mini" });
import { AIMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";

async function chat(state, config) {
  const last = state.messages.at(-1).text;
  const model = new FakeListChatModel({ responses: [`You said: ${last}. What else?`], sleep: 20 });

  return { messages: [await model.invoke(state.messages, config)] };
}

async function approve() {
  const answer = interrupt({ question: "Shall I send it?", schema: { enum: ["yes", "no"] } });

  return { messages: [new AIMessage(answer === "yes" ? "It is sent." : "I have thrown it away.")] };
}

const route = (state) => (/\bsend\b/i.test(state.messages.at(-1).text) ? "approve" : "chat");

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("chat", chat)
  .addNode("approve", approve)
  .addConditionalEdges(START, route, ["chat", "approve"])
  .addEdge("chat", END)
  .addEdge("approve", END)
  .compile();
