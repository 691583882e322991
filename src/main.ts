import { buffer } from 'node:stream/consumers';
import type { Invocation } from './cli/invocation.ts';
import { runCommand } from './cli/program.ts';
import { readEnvFile } from './env-file.ts';
import { systemTime } from './stdx/time.ts';

const STARTER_CHECK_INTERVAL_MS = 250;
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

const stop = new AbortController();
const invocation: Invocation = {
  time: systemTime(),
  env: process.env,
  envFile: readOwnEnvFile,
  input: () => buffer(process.stdin),
  print(text) {
    process.stdout.write(`${text}\n`);
  },
  tell(text) {
    process.stderr.write(`${text}\n`);
  },
  progress(doing, done, total) {
    // What is told next is longer, and takes its place.
    if (process.stderr.isTTY) process.stderr.write(`${doing} ${Math.floor((100 * done) / total)} %\r`);
  },
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
