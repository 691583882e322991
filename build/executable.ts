import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Plugin, rolldown } from 'rolldown';
import { licenseTexts } from './licenses.ts';

/**
 * `node build/executable.ts --output FILE [--node NODE]`: builds one file that needs neither Node.js nor npm nor a folder of
 * its own. The modules are bundled with all packages that they import; pages, styles and contracts become assets, which
 * `src/shipped.ts` reads. `--node` is the Node.js of another platform, of the same version.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** The folders of shipped files, below `src`. */
const ASSET_FOLDERS = ['http/docs/assets', 'http/docs/pages', 'operator/console/frame/assets'];

/** A `require` made by hand is not followed by the bundler; one that is called by its name is. */
const BUNDLED_REQUIRE: Plugin = {
  name: 'bundled-require',
  transform: (code, id) =>
    id.startsWith(join(ROOT, 'src')) ? code.replace('const require = createRequire(import.meta.url);', '') : undefined,
};

const { values } = parseArgs({ options: { output: { type: 'string' }, node: { type: 'string' } } });
if (!values.output) throw new Error('usage: node build/executable.ts --output FILE [--node NODE]');
const work = mkdtempSync(join(tmpdir(), 'pet-catalog-executable-'));
try {
  writeFileSync(join(work, 'main.mjs'), await bundle('src/main.ts'));
  // Threads have an entry of their own, from a data: URL. `createRequire` refuses such an address, and is asked for
  // Node.js's own modules alone.
  const worker = join(work, 'worker.mjs');
  writeFileSync(worker, (await bundle('src/worker.ts')).replaceAll('import.meta.url', '"file:///"'));
  const licenses = join(work, 'licenses.txt');
  writeFileSync(licenses, licenseTexts(ROOT, { withNode: true }));
  const settings = {
    // Relative, as it is kept in the file: the same commit gives the same bytes.
    main: 'main.mjs',
    mainFormat: 'module',
    output: resolve(values.output),
    ...(values.node && { executable: resolve(values.node) }),
    disableExperimentalSEAWarning: true,
    // A --require or --import of the machine's NODE_OPTIONS would end it with a stack, and nothing else may load code here.
    execArgvExtension: 'none',
    // Compiled code beside the source: 11 of 101 MB and a quarter of the start. Only the Node.js that made it takes it.
    useCodeCache: !values.node,
    assets: { ...shippedFiles(), 'worker.js': worker, 'licenses.txt': licenses },
  };
  writeFileSync(join(work, 'executable.json'), JSON.stringify(settings));
  // Predictable: compiled code is in the same order each time.
  execFileSync(process.execPath, ['--predictable', '--build-sea', 'executable.json'], {
    cwd: work,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Joins a module and everything that it imports, optional packages included, to one ES module. */
async function bundle(entry: string): Promise<string> {
  await using bundling = await rolldown({
    input: join(ROOT, entry),
    platform: 'node',
    // A native driver that nothing installs; pg asks for it in a try.
    external: ['pg-native'],
    plugins: [BUNDLED_REQUIRE],
    onLog: (level, log) => {
      if (level === 'warn') console.error(`executable: ${log.message}`);
    },
  });
  const { output } = await bundling.generate({ format: 'esm', codeSplitting: false, minify: true });
  // V8 keeps a source with a single character beyond Latin-1 at two bytes for each.
  return output[0].code.replaceAll(/[^\0-\xff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Every file that `shippedFile` may be asked for, by its path from `src`. */
function shippedFiles(): Record<string, string> {
  const files: Record<string, string> = { '../package.json': join(ROOT, 'package.json') };
  for (const folder of ASSET_FOLDERS) {
    for (const entry of readdirSync(join(ROOT, 'src', folder), { recursive: true, withFileTypes: true })) {
      const file = join(entry.parentPath, entry.name);
      if (entry.isFile()) files[relative(join(ROOT, 'src'), file)] = file;
    }
  }
  return files;
}
