import { fstatSync, writeSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { levels, pino } from 'pino';

const STDERR = 2;
/** Buffer for a stalled reader; lines beyond it are dropped, because the service matters more. */
const BUFFERED_BYTES_MAX = 1024 * 1024;
const CLOSE_MS = 500;
const CLOSE_CHECK_INTERVAL_MS = 10;
const KEY = /petcat_(live|test)_[0-9A-Za-z]{36}/g;

/**
 * Opens the log on stderr: JSON lines or, on a terminal, lines for people. Keys are redacted in every line. A full disk
 * or a reader that stalls or goes away loses lines; it never blocks the service, grows its memory or delays its stop.
 */
export function openLog(level: string) {
  const isTerminal = process.stderr.isTTY === true;
  const stderr = fstatSync(STDERR);
  // The reader of a pipe or socket may stall; anything else takes or refuses a write at once.
  const writeText = stderr.isFIFO() || stderr.isSocket() ? writeToStream : writeToFile;
  let lines = '';
  let onLoss = (_lines: number) => {};
  const flush = () => {
    const text = lines;
    lines = '';
    if (text !== '' && !writeText(redact(text))) onLoss(text.split('\n').length - 1);
  };
  /** Writes a preformatted JSON line, including its line feed. */
  const write = (line: string) => {
    // Lines of one turn of the event loop share a write.
    if (lines === '') setImmediate(flush);
    lines += isTerminal ? readable(line) : line;
  };
  return {
    log: pino({ level, base: null }, { write }),
    write,
    /** Calls back with how many lines were lost. */
    onLoss(listener: (lines: number) => void) {
      onLoss = listener;
    },
    /** Flushes, and gives the reader half a second to drain the buffer. */
    async close() {
      flush();
      const startedMs = performance.now();
      while (process.stderr.writableLength > 0 && performance.now() - startedMs < CLOSE_MS) {
        await wait(CLOSE_CHECK_INTERVAL_MS);
      }
    },
  };
}

function redact(text: string): string {
  // Rare; a substring search is cheaper than the pattern.
  return text.includes('petcat_') ? text.replace(KEY, 'petcat_$1_[redacted]') : text;
}

function writeToStream(text: string): boolean {
  const hasRoom = process.stderr.writableLength < BUFFERED_BYTES_MAX;
  if (hasRoom) process.stderr.write(text);
  return hasRoom;
}

function writeToFile(text: string): boolean {
  try {
    return writeSync(STDERR, text) > 0;
  } catch {
    return false;
  }
}

/** Formats a log line for people: time (UTC), level, event, then the other members by name. */
export function readable(line: string): string {
  const { time, level, event, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const at = new Date(Number(time)).toISOString().slice(11, 19);
  const label = (levels.labels[Number(level)] ?? '').toUpperCase().padEnd(5);
  const members = Object.entries(rest).map(([name, value]) => `${name}=${plain(value)}`);
  // A 5xx that no error led to has its code in the place of one.
  const text = err ? String((err as { stack?: unknown }).stack ?? plain(err)) : '';
  const stack = text && `\n  ${text.replaceAll('\n', '\n  ')}`;
  return `${[at, label, String(event), ...members].join(' ')}${stack}\n`;
}

/** Plain words as they are, numbers shortened, all else as JSON, so that no control character reaches the terminal. */
function plain(value: unknown): string {
  if (typeof value === 'string' && /^[!-~]+$/.test(value)) return value;
  if (typeof value === 'number' && !Number.isInteger(value)) return value.toFixed(1);
  return JSON.stringify(value);
}
