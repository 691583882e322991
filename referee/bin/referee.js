#!/usr/bin/env node
import { existsSync } from 'node:fs';

// A checkout runs the source, which its own Node.js can; the package has what was compiled from it.
const source = new URL('../src/main.ts', import.meta.url);
await import(existsSync(source) ? source.href : new URL('../dist/main.js', import.meta.url).href);
