import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { licenseTexts } from './licenses.ts';

/** Copies the assets of the pages into `dist`, where the packed service looks for them. */

const ROOT = fileURLToPath(new URL('..', import.meta.url));

copy('src/http/docs/assets', 'dist/http/docs/assets');
copy('src/http/docs/pages', 'dist/http/docs/pages');
copy('src/operator/console/frame/assets', 'dist/operator/console/frame/assets');
writeFileSync(join(ROOT, 'dist/licenses.txt'), licenseTexts(ROOT, { withNode: false }));

function copy(from: string, to: string): void {
  cpSync(join(ROOT, from), join(ROOT, to), { recursive: true });
}
