import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SETTINGS } from '../src/config.ts';

/** Writes the list in `docs/settings.md` out of the settings of the code; `npm run generate` runs it, a test compares. */

const PAGE = fileURLToPath(new URL('../docs/settings.md', import.meta.url));
const LIST = /^- `HOST` .*\n(?:- `.*\n)+/m;

/** The page with the list of the present settings. Throws if it has no list to replace. */
export function withSettings(page: string): string {
  if (!LIST.test(page)) throw new Error('docs/settings.md has no list that begins with HOST');
  const items = Object.entries(SETTINGS).map(([name, { default: usual, about }]) => {
    return `- \`${name}\` (${usual ? `\`${usual}\`` : 'none'}): ${about}\n`;
  });
  return page.replace(LIST, () => items.join(''));
}

if (import.meta.main) writeFileSync(PAGE, withSettings(readFileSync(PAGE, 'utf8')));
