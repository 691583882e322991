import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Builds the executable of a checkout, as a release does. */
export function buildExecutable(output: string, checkout = ROOT): void {
  execFileSync(process.execPath, ['build/executable.ts', '--output', output], { cwd: checkout, stdio: 'pipe' });
}

/** Copies an executable as that of another version of as many characters: only the manifest in it differs. */
export function copyAsVersion(from: string, to: string, version: string): void {
  const bytes = readFileSync(from);
  const member = /"version": ".*?"/.exec(readFileSync(`${ROOT}/package.json`, 'utf8'))?.[0] ?? '';
  const place = bytes.lastIndexOf(member);
  assert.ok(place > 0, `no ${member} in ${from}`);
  bytes.write(`"version": "${version}"`.padEnd(member.length), place);
  writeFileSync(to, bytes, { mode: 0o644 });
}
