// A chat page as LangGraph's documents write it: nothing in it knows spoolwire.
import { useStream } from '@langchain/langgraph-sdk/react';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

const query = new URLSearchParams(location.search);
const textOf = ({ content }) => (typeof content === 'string' ? content : content.map((c) => c.text ?? '').join(''));

function Chat() {
    const [threadId, setThreadId] = useState(query.get('thread'));
    const stream = useStream({
        apiUrl: query.get('api'),
        assistantId: 'chat',
        messagesKey: 'messages',
        threadId,
        onThreadId: (id) => {
            setThreadId(id);
            query.set('thread', id);
            history.replaceState(null, '', `?${query}`);
        },
        onError: (error) => errors.push(String(error)),
        reconnectOnMount: true,
    });
    const say = (content) => stream.submit({ messages: [{ type: 'human', content }] }, { streamResumable: true });

    window.say = say;
    return (
        <main>
            {stream.messages.map((message, i) => (
                <p key={message.id ?? i} className={message.type}>
                    {textOf(message)}
                </p>
            ))}
            {stream.interrupt && (
                <button id="yes" onClick={() => stream.submit(undefined, { command: { resume: 'yes' } })}>
                    {stream.interrupt.value?.question}
                </button>
            )}
            <button id="stop" onClick={() => stream.stop()}>
                stop
            </button>
            <output>{stream.isLoading ? 'busy' : 'idle'}</output>
        </main>
    );
}

const errors = [];
// What a person could see, change by change: the lengths of the last answer.
const growth = [];
const last = () => [...document.querySelectorAll('p.ai')].at(-1)?.textContent ?? '';

Object.assign(window, { errors, growth, last });
new MutationObserver(() => {
    if (last().length !== growth.at(-1)) growth.push(last().length);
}).observe(document, { subtree: true, childList: true, characterData: true });
createRoot(document.getElementById('root')).render(<Chat />);
