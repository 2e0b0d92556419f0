/**
 * Checkpointer and store for graphs that are run without the kit's worker.
 *
 *     const wire = new Wire({ url, token });
 *     const graph = builder.compile({ checkpointer: new SpoolwireSaver(wire), store: new SpoolwireStore(wire) });
 */
import { BaseCheckpointSaver, BaseStore } from '@langchain/langgraph';

import { saverClass } from './saver.js';
import { storeClass } from './store.js';

export { Wire } from './wire.js';
export const SpoolwireSaver = saverClass({ BaseCheckpointSaver });
export const SpoolwireStore = storeClass({ BaseStore });
