// How long the graph alone takes to its first token, in a process of its own: what every server adds to.
//   own.mjs N
import { graph } from './graph.mjs';

const input = { messages: [{ role: 'user', content: '5 1' }] };
const times = [];

for (let i = 0; i <= Number(process.argv[2]); i += 1) {
    const began = performance.now();
    let first;

    for await (const _ of await graph.stream(input, { streamMode: 'messages' })) first ??= performance.now() - began;
    if (i > 0) times.push(first); // the first one loads
}
console.log(JSON.stringify(times));
