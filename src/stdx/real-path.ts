import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/**
 * The path itself if no part of it is a link, else the absolute path that it leads to. The last parts may be missing.
 * Throws if a link leads nowhere or in a circle, so that nothing is made where it points by mistake.
 */
export function realPath(path: string): string {
  const absolute = resolve(path);
  const real = resolveLinks(absolute);
  return real === absolute ? path : real;
}

function resolveLinks(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // What may not be looked at is reported where it is opened.
    if (code !== 'ENOENT' && code !== 'ELOOP') return path;
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
      throw new Error(`${path} is a link that leads nowhere`);
    return dirname(path) === path ? path : join(resolveLinks(dirname(path)), basename(path));
  }
}
