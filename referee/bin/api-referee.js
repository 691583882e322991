#!/usr/bin/env node
// Plain JavaScript that every Node.js parses, so that an outdated one can be told.
import { existsSync } from 'node:fs';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

// As in `engines`.
if (major < 22 || (major === 22 && minor < 15)) {
  process.stderr.write(`api-referee: Node.js 22.15 or later is needed, and this is ${process.versions.node}\n`);
  process.exitCode = 2;
} else {
  // A checkout runs the source, which its own Node.js can; the package has what was compiled from it.
  const source = new URL('../src/main.ts', import.meta.url);
  await import(existsSync(source) ? source.href : new URL('../dist/main.js', import.meta.url).href);
}
