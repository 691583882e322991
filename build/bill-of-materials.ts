import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The members of a CycloneDX bill that a test reads. */
export interface Bill {
  readonly bomFormat: string;
  readonly metadata: { readonly timestamp: string };
  readonly components: readonly { name: string; version: string; licenses?: readonly unknown[] }[];
}

interface Locked {
  readonly dev?: true;
  readonly devOptional?: true;
  readonly link?: true;
}

/**
 * The CycloneDX bill of the packages that the lockfile of a checkout pins for production. It has the date of the commit
 * and no serial number, which would be random: the same commit gives the same bytes. Needs no network.
 */
export function billOfMaterials(root: string, committed: Date): string {
  const read = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'));
  const lockfile: { packages: Record<string, Locked> } = read('package-lock.json');
  // In a checkout `--omit dev` also leaves out a package that a development dependency uses as well, so the bill is made
  // beside it. The component has the name of the folder.
  const work = mkdtempSync(join(tmpdir(), 'pet-catalog-bill-'));
  const folder = join(work, 'pet-catalog');
  mkdirSync(folder);
  try {
    const write = (file: string, content: unknown) => writeFileSync(join(folder, file), JSON.stringify(content));
    write('package.json', withoutDevelopment(read('package.json')));
    const production = Object.entries(lockfile.packages).filter(
      ([path, { dev, devOptional, link }]) => path.includes('node_modules/') && !dev && !devOptional && !link,
    );
    const packages = { '': withoutDevelopment(lockfile.packages[''] ?? {}), ...Object.fromEntries(production) };
    write('package-lock.json', { ...lockfile, packages });
    const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
    const env = { ...process.env, npm_config_offline: 'true', npm_config_update_notifier: 'false' };
    const { serialNumber: _, ...bill } = JSON.parse(execFileSync('npm', args, { cwd: folder, env, encoding: 'utf8' }));
    bill.metadata.timestamp = committed.toISOString();
    return `${JSON.stringify(bill, null, 2)}\n`;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function withoutDevelopment(manifest: object): object {
  return { ...manifest, devDependencies: undefined, workspaces: undefined };
}
