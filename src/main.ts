import { existsSync, readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { parseEnv } from 'node:util';
import { CatalogError } from './catalog/error.ts';
import { type Invocation, UsageError } from './cli/invocation.ts';
import { createProgram } from './cli/program.ts';
import { ConfigMistakes } from './config.ts';
import { LimiterNotOpened } from './limits/limiter.ts';
import { ServiceNotStarted } from './service.ts';
import { DatabaseNotOpened } from './storage/engine.ts';

const PROGRESS_CHARACTERS = 30;
const STARTER_CHECK_INTERVAL_MS = 250;
/** What says by its message why a command could not begin. */
const NOT_STARTED = [DatabaseNotOpened, LimiterNotOpened, ServiceNotStarted];
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

const stop = new AbortController();
const invocation: Invocation = {
  env: process.env,
  envFile: readEnvFile,
  input: () => buffer(process.stdin),
  print: (text) => process.stdout.write(`${text}\n`),
  tell: (text) => process.stderr.write(`${text}\n`),
  progress: showProgress,
  stop: stop.signal,
  stopsGracefully: false,
  onReload: (reload) => process.on('SIGHUP', reload),
};

// The reader of stdout may close it early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') invocation.tell(`pet-catalog: Cannot write to stdout: ${error.message}`);
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});
// Nothing is left to report on.
process.stderr.on('error', () => {});

const askToStop = (exitCode: number) => {
  if (!invocation.stopsGracefully || stop.signal.aborted) process.exit(exitCode);
  stop.abort();
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

try {
  const program = await createProgram(invocation, process.argv[2]);
  await program.parseAsync(process.argv);
} catch (error) {
  process.exitCode = report(error);
}
// Unread output on stderr must not keep a stopped service alive.
if (invocation.stopsGracefully) process.exit();

function readEnvFile(): Record<string, string | undefined> {
  if (!existsSync('.env')) return {};
  try {
    const values = parseEnv(readFileSync('.env', 'utf8'));
    // OpenTelemetry reads its variables from the environment.
    for (const [name, value] of Object.entries(values)) {
      if (name.startsWith('OTEL_')) process.env[name] ??= value;
    }
    return values;
  } catch (error) {
    throw new ConfigMistakes([`.env: cannot read it: ${(error as Error).message}`]);
  }
}

/** Overwrites one progress line until done; prints nothing if stderr is no terminal. */
function showProgress(doing: string, done: number, total: number): void {
  if (!process.stderr.isTTY) return;
  const share = total === 0 ? 1 : done / total;
  const bar = '█'.repeat(Math.round(share * PROGRESS_CHARACTERS)).padEnd(PROGRESS_CHARACTERS, '░');
  process.stderr.write(`\r${doing} ${bar} ${Math.floor(share * 100)} %${done >= total ? '\n' : ''}`);
}

/** Prints an error in one line, or one line per mistake, and returns its exit code. */
function report(error: unknown): number {
  if (error instanceof UsageError) {
    if (error.message) invocation.tell(`pet-catalog: ${error.message}`);
    return error.exitCode;
  }
  if (error instanceof ConfigMistakes) {
    for (const mistake of error.mistakes) invocation.tell(`pet-catalog: ${mistake}`);
    return 2;
  }
  if (error instanceof CatalogError || NOT_STARTED.some((kind) => error instanceof kind)) {
    invocation.tell(`pet-catalog: ${(error as Error).message}`);
    return error instanceof CatalogError && error.code === 'validation_failed' ? 2 : 1;
  }
  if (error instanceof Error && 'syscall' in error) {
    invocation.tell(`pet-catalog: ${error.message}`);
    return 1;
  }
  invocation.tell(`pet-catalog: ${error instanceof Error ? (error.stack ?? error.message) : error}`);
  return 1;
}
