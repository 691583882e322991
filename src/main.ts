import { buffer } from 'node:stream/consumers';
import type { Invocation } from './cli/invocation.ts';
import { runCommand } from './cli/program.ts';
import { readEnvFile } from './env-file.ts';
import { systemTime } from './stdx/time.ts';

const PROGRESS_CHARACTERS = 30;
/** A shorter line may follow a longer one. */
const ERASE_REST = '\x1b[K';
const STARTER_CHECK_INTERVAL_MS = 250;
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

const stop = new AbortController();
const progress = progressLine();
const invocation: Invocation = {
  time: systemTime(),
  env: process.env,
  envFile: readOwnEnvFile,
  input: () => buffer(process.stdin),
  print(text) {
    progress.erase();
    process.stdout.write(`${text}\n`);
  },
  tell(text) {
    progress.erase();
    process.stderr.write(`${text}\n`);
  },
  progress: progress.show,
  stop: stop.signal,
  stopsGracefully: false,
};

// The reader of stdout may close it early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') invocation.tell(`pet-catalog: Cannot write to stdout: ${error.message}`);
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});
// Nothing is left to report on.
process.stderr.on('error', () => {});

// A terminal that closes ends a command. A service has nothing to read again, and goes on.
process.on('SIGHUP', () => {
  if (!invocation.stopsGracefully) process.exit(129);
});

const askToStop = (exitCode: number) => {
  if (!invocation.stopsGracefully || stop.signal.aborted) process.exit(exitCode);
  stop.abort(exitCode);
};
for (const [signal, exitCode] of Object.entries(SIGNALS)) process.on(signal, () => askToStop(exitCode));

// npm does not forward signals through the shell that it starts: if `npm start` ends, stop the service.
if (process.env.npm_lifecycle_event) {
  const starter = process.ppid;
  const watching = setInterval(() => {
    if (process.ppid === starter) return;
    clearInterval(watching);
    askToStop(SIGNALS.SIGTERM);
  }, STARTER_CHECK_INTERVAL_MS).unref();
}

process.exitCode = await runCommand(invocation, process.argv.slice(2));
// Unread output on stderr must not keep a stopped service alive.
if (invocation.stopsGracefully) process.exit();

function readOwnEnvFile() {
  const values = readEnvFile('.env');
  // OpenTelemetry reads its variables from the environment.
  for (const [name, value] of Object.entries(values)) {
    if (name.startsWith('OTEL_')) process.env[name] ??= value;
  }
  return values;
}

/** A progress line that is overwritten until done; nothing if stderr is no terminal. */
function progressLine() {
  let isUnderWay = false;
  return {
    show(doing: string, done: number, total: number): void {
      if (!process.stderr.isTTY) return;
      const share = done / total;
      const bar = '█'.repeat(Math.round(share * PROGRESS_CHARACTERS)).padEnd(PROGRESS_CHARACTERS, '░');
      isUnderWay = done < total;
      process.stderr.write(`\r${doing} ${bar} ${Math.floor(share * 100)} %${ERASE_REST}${isUnderWay ? '' : '\n'}`);
    },
    /** Makes way for other text, if the line is not done. */
    erase(): void {
      if (isUnderWay) process.stderr.write(`\r${ERASE_REST}`);
      isUnderWay = false;
    },
  };
}
