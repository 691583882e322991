import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { COMMAND, temporaryFolder } from './kit/fixtures.ts';

/** Writes docs/report.png: the page of a real verdict, on a client that sends no Idempotency-Key. */

const [api = '', program = ''] = ['api.ts', 'program.ts'].map((name) =>
  fileURLToPath(new URL(`./kit/${name}`, import.meta.url)),
);
const PICTURE = fileURLToPath(new URL('../docs/report.png', import.meta.url));
const BROWSER = ['--no-sandbox', '--hide-scrollbars', '--window-size=1150,800', `--screenshot=${PICTURE}`];

using folder = temporaryFolder();
const page = join(folder.path, 'report.html');
const client = ['--', process.execPath, program, 'no-key'];
const args = ['client', '--start', `'${process.execPath}' '${api}'`, '--jobs', '4', '--html', page, ...client];
spawnSync(process.execPath, [COMMAND, ...args], { cwd: folder.path, stdio: 'inherit' });
spawnSync('chromium-headless-shell', [...BROWSER, pathToFileURL(page).href], { stdio: 'inherit' });
