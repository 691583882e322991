import { shippedFile } from './shipped.ts';

const manifest: { version: string; peerDependencies: Record<string, string> } = JSON.parse(
  shippedFile('../package.json').toString(),
);

export const VERSION = manifest.version;

/** The command as it is typed: in a checkout npm runs it. */
export const COMMAND = import.meta.url.endsWith('.ts') ? 'npx pet-catalog' : 'pet-catalog';

/** The optional packages that traces need, as arguments of `npm install`. */
export const TRACING_PACKAGES = Object.entries(manifest.peerDependencies).map(([name, range]) => `${name}@${range}`);
