import asyncHooks from 'node:async_hooks';
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Preloaded by `npm test`, where each file is a process. In JavaScript, since the first module in TypeScript that is not
 * in the cache loads the compiler that erases its types.
 */

// To compile the same modules again took a quarter of the time of a file, and half of that of a program that it starts.
process.env.NODE_COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/tests', import.meta.url));
enableCompileCache(process.env.NODE_COMPILE_CACHE);

// To know the test of an error that nothing caught, `node:test` follows every promise, which took up to two fifths of
// the time of a file. Without that such an error still fails the file; `node --test FILE`, without this, names the test.
const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
await import('node:test');
asyncHooks.createHook = createHook;
