import type { Invocation } from './cli/invocation.ts';
import { runCommand } from './cli/program.ts';

const ERASE_LINE = '\r\x1b[K';
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

/** Each play that runs side by side ends its processes at the exit of this one. */
const EXIT_LISTENERS_MAX = 200;

const stop = new AbortController();
let isProgressShown = false;
const write = (stream: NodeJS.WriteStream, text: string) => {
  if (isProgressShown) process.stderr.write(ERASE_LINE);
  isProgressShown = false;
  stream.write(`${text}\n`);
};
const invocation: Invocation = {
  env: process.env,
  print: (text) => write(process.stdout, text),
  tell: (text) => write(process.stderr, text),
  hasColours: () => process.stdout.isTTY && process.stdout.hasColors(),
  progress(doing, done, total) {
    if (!process.stderr.isTTY) return;
    isProgressShown = done < total;
    process.stderr.write(`${ERASE_LINE}${isProgressShown ? `${doing} ${done} of ${total}` : ''}`);
  },
  stop: stop.signal,
};

// The reader of stdout may close it early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 2));
// Nothing is left to report on.
process.stderr.on('error', () => {});

process.setMaxListeners(EXIT_LISTENERS_MAX);
for (const [signal, exitCode] of Object.entries(SIGNALS)) {
  process.on(signal, () => {
    // A second one ends it at once.
    if (stop.signal.aborted) process.exit(exitCode);
    stop.abort(exitCode);
  });
}

process.exitCode = await runCommand(invocation, process.argv.slice(2));
