import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { licenseTexts } from './licenses.ts';

/** Copies the assets of the pages, our own and those of packages, into `dist`, where the packed service looks first. */

const ROOT = fileURLToPath(new URL('.', import.meta.url));
const UPLOT = ['LICENSE', 'dist/uPlot.iife.min.js', 'dist/uPlot.min.css'];

copy('src/http/docs/assets', 'dist/http/docs/assets');
copy('src/http/docs/pages', 'dist/http/docs/pages');
copy('src/operator/frame/assets', 'dist/operator/frame/assets');
for (const file of UPLOT) copy(`node_modules/uplot/${file}`, `dist/operator/frame/assets/uplot/${file}`);
writeFileSync(join(ROOT, 'dist/licenses.txt'), licenseTexts(ROOT, { withNode: false }));

function copy(from: string, to: string): void {
  cpSync(join(ROOT, from), join(ROOT, to), { recursive: true });
}
