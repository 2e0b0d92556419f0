// The page with the SDK of a version: the suite has several, under names of its own.
import { defineConfig } from 'vite';

export default defineConfig({
    esbuild: { jsx: 'automatic' },
    resolve: { alias: { '@langchain/langgraph-sdk': `sdk-${process.env.SDK}` } },
    build: { minify: false, reportCompressedSize: false },
    logLevel: 'error',
});
