import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: true;
  readonly link?: true;
}

/**
 * The licences of the service and of every package that runs with it, tracing included, each with its notice; with
 * `withNode` those of Node.js too. Throws if a package has none.
 */
export function licenseTexts(root: string, { withNode }: { withNode: boolean }): string {
  const { packages }: { packages: Record<string, Locked> } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  );
  const texts = [`pet-catalog\n\n${readFileSync(join(root, 'LICENSE'), 'utf8').trim()}`];
  if (withNode) {
    const file = join(dirname(dirname(process.execPath)), 'LICENSE');
    texts.push(`Node.js ${process.versions.node}\n\n${readFileSync(file, 'utf8').trim()}`);
  }
  for (const [path, { version, license, dev, link }] of Object.entries(packages)) {
    const name = path.replace(/^.*node_modules\//, '');
    const runs = !dev && !name.startsWith('node-') && name !== path;
    if (link || !(runs || name.startsWith('@opentelemetry/'))) continue;
    const folder = join(root, path);
    // An optional package of another platform.
    if (!existsSync(folder)) continue;
    const notice = readdirSync(folder).find((file) => /^(licen[cs]e|copying)/i.test(file));
    const text = notice ? readFileSync(join(folder, notice), 'utf8').trim() : `Licence: ${license}`;
    if (!notice && !license) throw new Error(`${name} has no licence`);
    texts.push(`${name} ${version}\n\n${text}`);
  }
  return `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
