#!/usr/bin/env node
/**
 * Puts a graph to work.
 *
 *     spoolwire-run FILE:EXPORT                    as a process of a pool, for `command:` with `pool:`;
 *                                                  with --fail-jobs a graph that cannot be loaded
 *                                                  fails its jobs, instead of ending the process
 *     spoolwire-run --pull AGENT=FILE:EXPORT ...   as a worker that comes for its jobs; with --once for
 *                                                  one, then it exits: 0 when a job was done, whatever its
 *                                                  outcome, 75 when there was none
 *
 *     spoolwire-run --companion --auth FILE:EXPORT --app FILE:EXPORT
 *                                                  as the server's companion: the project's own
 *                                                  authentication handlers and HTTP app; with --check
 *                                                  it only loads them
 *
 * The server is that of SPOOLWIRE_URL and SPOOLWIRE_TOKEN; a pool's process gets both from it.
 */
import { inspect, parseArgs } from 'node:util';

import { serveCompanion } from '../src/node/companion.js';
import { Graph } from '../src/node/graph.js';
import { BrokenGraph, servePool } from '../src/node/pool.js';
import { Wire } from '../src/node/wire.js';
import { Worker } from '../src/node/worker.js';

const OLDEST_NODE = 20;

const USAGE = `usage: spoolwire-run [--fail-jobs] FILE:EXPORT
       spoolwire-run --companion [--auth FILE:EXPORT] [--app FILE:EXPORT] [--settings JSON] [--check]
       spoolwire-run --pull [--url URL] [--token TOKEN] [--concurrency N] [--once] [--wait SECONDS]
                     [--on-stop finish|return|lose] [--grace SECONDS] AGENT=FILE:EXPORT...`;
const NO_JOB = 75; // EX_TEMPFAIL

/** @param {string} why @returns {never} */
function refuse(why) {
    console.error(`spoolwire-run: ${why}`);
    process.exit(2);
}

/** @param {string[]} words @param {any} options */
async function pull(words, { url, token, concurrency, once, wait, grace, 'on-stop': onStop }) {
    const pairs = words.map((word) => {
        const [agent, ...spec] = word.split('=');
        if (spec.length === 0) refuse(`${word}: say AGENT=FILE:EXPORT`);
        return [agent, spec.join('=')];
    });
    const worker = await Worker.load(Object.fromEntries(pairs), {
        url,
        token,
        ...(concurrency ? { concurrency: Number(concurrency) } : {}),
        ...(onStop ? { onStop } : {}),
        ...(grace ? { grace: Number(grace) } : {}),
    });

    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => worker.stop());
    if (!once) return worker.run();
    if (!(await worker.runOnce({ wait: Number(wait ?? 0) }))) process.exitCode = NO_JOB;
}

/** Our own words are enough; of what a graph's file throws, the place is needed too.
 * @param {any} error */
const told = (error) => (error?.constructor === Error ? error.message : inspect(error));

/** @param {string} spec @returns {Promise<Graph | BrokenGraph>} */
async function loadOrFail(spec) {
    const { exit } = process;

    // A module that gives up by itself, for the lack of a key perhaps, has failed to load too.
    process.exit = (code) => {
        throw new Error(`it ended the process with the status ${code ?? process.exitCode ?? 0}`);
    };
    try {
        return await Graph.load(spec);
    } catch (error) {
        console.error(`spoolwire-run: ${told(error)}`);
        return new BrokenGraph(spec, error);
    } finally {
        process.exit = exit;
    }
}

async function main() {
    const { values, positionals } = parseArgs({
        allowPositionals: true,
        options: {
            pull: { type: 'boolean' },
            'fail-jobs': { type: 'boolean' },
            url: { type: 'string' },
            token: { type: 'string' },
            concurrency: { type: 'string' },
            once: { type: 'boolean' },
            wait: { type: 'string' },
            'on-stop': { type: 'string' },
            grace: { type: 'string' },
            companion: { type: 'boolean' },
            auth: { type: 'string' },
            app: { type: 'string' },
            settings: { type: 'string' },
            check: { type: 'boolean' },
            help: { type: 'boolean', short: 'h' },
        },
    });

    if (values.help) return console.log(USAGE);
    if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE)
        refuse(`this is Node ${process.versions.node}; LangGraph needs ${OLDEST_NODE} or newer: npm install -g node@22`);
    if (values.companion) return serveCompanion(values);
    if (positionals.length === 0) refuse(USAGE);
    if (values.pull) return pull(positionals, values);
    if (positionals.length !== 1) refuse('one graph for each pool');
    if (process.env.SPOOLWIRE_JOB) refuse("this process was started for one job: give its agent a pool ('pool: {size: 1}')");
    const load = values['fail-jobs'] ? loadOrFail : Graph.load;
    return servePool(await load(positionals[0]), new Wire(values));
}

// A promise that nobody waits for is one run's trouble, and not that of all others.
process.on('unhandledRejection', (reason) => console.error(reason));

main().catch((error) => refuse(told(error)));
