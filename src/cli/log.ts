import { fstatSync, writeSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { type Logger, levels, pino } from 'pino';
import type { Config } from '../config.ts';

const STDERR = 2;
/** What waits for a reader that has stalled; lines beyond it are lost, because the service matters more. */
const WAITING_BYTES_MAX = 1024 * 1024;
const CLOSE_MS = 500;
const CLOSE_CHECK_INTERVAL_MS = 10;
const KEYS = /petcat_(live|test)_[0-9A-Za-z]{36}/g;

/** A log, and its orderly end. */
export interface OpenLog {
  readonly log: Logger;
  /** Adds a line that is JSON already, line feed included. */
  write(line: string): void;
  /** Gives what is written half a second to be taken. */
  close(): Promise<void>;
}

/**
 * A log on stderr, of JSON lines or, on a terminal, of lines for people, in which no key can stand, whatever brought it there. A full disk or a reader that
 * stalls or goes away costs lines; it never holds up the service, its memory or its end.
 */
export function openLog(level: Config['logLevel']): OpenLog {
  const isTerminal = process.stderr.isTTY === true;
  const take = isStream() ? writeToStream : writeToFile;
  let lines = '';
  const flush = () => {
    const text = lines;
    lines = '';
    if (text !== '') take(withoutKeys(text));
  };
  const write = (line: string) => {
    // The lines of one turn of the event loop share a write.
    if (lines === '') setImmediate(flush);
    lines += isTerminal ? readable(line) : line;
  };
  process.stderr.on('error', () => {});
  return {
    log: pino({ level, base: null }, { write }),
    write,
    async close() {
      flush();
      const startedMs = performance.now();
      while (process.stderr.writableLength > 0 && performance.now() - startedMs < CLOSE_MS) {
        await wait(CLOSE_CHECK_INTERVAL_MS);
      }
    },
  };
}

function withoutKeys(text: string): string {
  // Hardly ever is there one, and looking for a word is much faster than for a pattern.
  return text.includes('petcat_') ? text.replace(KEYS, 'petcat_$1_[redacted]') : text;
}

/** A pipe or socket, which its reader may not empty; anything else takes a write at once, or refuses it. */
function isStream(): boolean {
  const stats = fstatSync(STDERR);
  return stats.isFIFO() || stats.isSocket();
}

function writeToStream(text: string): void {
  if (process.stderr.writableLength < WAITING_BYTES_MAX) process.stderr.write(text);
}

function writeToFile(text: string): void {
  try {
    writeSync(STDERR, text);
  } catch {
    // There is nowhere to say that there is no room to say it.
  }
}

/** A line of the log for people: when (UTC), how grave, what, and the rest by name. */
export function readable(line: string): string {
  const { time, level, event, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const at = new Date(Number(time)).toISOString().slice(11, 19);
  const grave = (levels.labels[Number(level)] ?? '').toUpperCase().padEnd(5);
  const told = Object.entries(rest).map(([name, value]) => `${name}=${plain(value)}`);
  const stack = err ? `\n  ${String((err as { stack?: unknown }).stack).replaceAll('\n', '\n  ')}` : '';
  return `${[at, grave, String(event), ...told].join(' ')}${stack}\n`;
}

/** Words as they are, numbers short, and whatever else as JSON, so that nothing plays with the terminal. */
function plain(value: unknown): string {
  if (typeof value === 'string' && /^[!-~]+$/.test(value)) return value;
  if (typeof value === 'number' && !Number.isInteger(value)) return value.toFixed(1);
  return JSON.stringify(value);
}
