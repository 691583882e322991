import { isUtf8 } from 'node:buffer';
import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ConfigMistakes, KNOWN_NAMES } from './config.ts';

const UTF16_MARKS = ['fffe', 'feff'];
/** A name with its value, of which the last group is what stands after `=` without quotes. */
const ENTRY = /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=(?:[ \t]*(?:"[^"]*"|'[^']*'|`[^`]*`)|([^\r\n]*))/gm;
const OPENTELEMETRY = 'OTEL_';

/**
 * Reads the names and values of a file such as `.env`; none if it does not exist. Throws `ConfigMistakes` if it cannot
 * be read, is not UTF-8, or would give a setting less than what stands there.
 */
export function readEnvFile(file: string): Readonly<Record<string, string | undefined>> {
  if (!existsSync(file)) return {};
  const text = decode(file, read(file));
  const values = parseEnv(text);
  const mistakes = [...text.matchAll(ENTRY)].flatMap((entry) => {
    const [, name = '', rest = ''] = entry;
    if (!KNOWN_NAMES.has(name) && !name.startsWith(OPENTELEMETRY)) return [];
    const place = `${file}:${text.slice(0, entry.index).split('\n').length}: ${name}`;
    if (values[name]?.includes('\n')) return [`${place} has a quote that is not closed in its line`];
    const comment = rest.indexOf('#');
    if (comment === -1 || /\s/.test(rest[comment - 1] ?? '')) return [];
    return [`${place} would end before its #; put the value into quotes, or a space before a comment`];
  });
  if (mistakes.length > 0) throw new ConfigMistakes(mistakes);
  return values;
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new ConfigMistakes([`${file}: cannot read it: ${(error as Error).message}`]);
  }
}

function decode(file: string, bytes: Buffer): string {
  if (UTF16_MARKS.includes(bytes.toString('hex', 0, 2)) || bytes.includes(0))
    throw new ConfigMistakes([`${file}: it is UTF-16; save it as UTF-8`]);
  if (!isUtf8(bytes)) throw new ConfigMistakes([`${file}: it is not UTF-8; save it as UTF-8`]);
  return bytes.toString('utf8').replace(/^\u{FEFF}/u, '');
}
