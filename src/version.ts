import { readFileSync } from 'node:fs';

const manifest: { version: string; peerDependencies: Record<string, string> } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);

/** The version of the software, from `package.json`. */
export const VERSION = manifest.version;

/** The optional packages that traces need, as arguments of `npm install`. */
export const TRACING_PACKAGES = Object.entries(manifest.peerDependencies).map(([name, range]) => `${name}@${range}`);
