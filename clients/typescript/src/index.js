/**
 * The client: reads jobs of a spoolwire server, in browsers and in Node, without dependencies.
 *
 *     for await (const { event, data } of subscribe(job, { dialect: "agent" })) show(event, data);
 */
export { answer, cancel, SpoolwireError, submit, subscribe } from './client.js';
