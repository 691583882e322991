import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Copies the assets of the pages, our own and those of packages, into `dist`, where the packed service looks first. */

const ROOT = fileURLToPath(new URL('.', import.meta.url));
const SWAGGER = ['swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'swagger-ui.css', 'LICENSE', 'NOTICE'];
const UPLOT = ['LICENSE', 'dist/uPlot.iife.min.js', 'dist/uPlot.min.css'];

copy('src/http/docs/assets', 'dist/http/docs/assets');
for (const file of SWAGGER) {
  copy(`node_modules/swagger-ui-dist/${file}`, `dist/http/docs/assets/swagger-ui-dist/${file}`);
}
copy('src/operator/frame/assets', 'dist/operator/frame/assets');
for (const file of UPLOT) copy(`node_modules/uplot/${file}`, `dist/operator/frame/assets/uplot/${file}`);

function copy(from: string, to: string): void {
  cpSync(join(ROOT, from), join(ROOT, to), { recursive: true });
}
