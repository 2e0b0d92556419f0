// The packages from npm.  They are installed under build/, so Node does not find them from
// here by name; and the parts of the SDK that we want are not exported anyway.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const installed = (path) =>
    import(pathToFileURL(join(process.env.PACKAGES, 'node_modules', path)));

export const { createParser } = await installed('eventsource-parser/dist/index.js');

async function sdk(version) {
    const part = (path) => installed(`sdk-${version}/dist/${path}`);
    return {
        version,
        ...(await part('client.js')), // Client
        ...(await part('utils/sse.js')), // BytesLineDecoder, SSEDecoder
        ...(await part('ui/messages.js')), // MessageTupleManager, toMessageDict
        ...(await part('ui/manager.js')), // StreamManager
    };
}

export const sdks = await Promise.all(['1.6.0', '1.12.0'].map(sdk));
