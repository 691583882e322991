import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Preloaded by `npm test`: each test file is a process, and compiling the same modules took a quarter of its time. In
// JavaScript, since the first module in TypeScript that is not in the cache loads the compiler that erases its types.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/tests', import.meta.url)));
