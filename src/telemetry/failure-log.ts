import { CatalogError } from '../catalog/error.ts';

const LINES_PER_SECOND = 10;
const SECOND_MS = 1_000;
/** Distinct causes within a second; further ones share their lines. */
const CAUSES_MAX = 100;

/** The failures of one cause within a second. */
interface Repeated {
  readonly code: string | undefined;
  readonly reason: string;
  count: number;
  firstRequestId: string;
  lastRequestId: string;
}

/** Logs failed requests: the first ten of a cause in a second, then one line with the number of the others. */
export class FailureLog {
  readonly #write: (line: object) => void;
  #causes = new Map<string, Repeated>();
  #timer: NodeJS.Timeout | undefined;

  constructor(write: (line: object) => void) {
    this.#write = write;
  }

  report(line: { requestId: string; code?: string | undefined; err: unknown }): void {
    const { requestId, code, err } = line;
    this.#timer ??= setTimeout(() => this.flush(), SECOND_MS).unref();
    const wanted = causeOf(err);
    const cause = this.#causes.has(wanted) || this.#causes.size < CAUSES_MAX ? wanted : '';
    const repeated = this.#causes.get(cause) ?? { code, reason: reasonOf(err), count: 0, firstRequestId: '' };
    repeated.count += 1;
    if (repeated.count <= LINES_PER_SECOND) this.#write({ event: 'request_failed', ...line });
    else if (repeated.count === LINES_PER_SECOND + 1) repeated.firstRequestId = requestId;
    this.#causes.set(cause, { ...repeated, lastRequestId: requestId });
  }

  /** Ends the second: logs the number of the failures that had no line. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const { count, ...repeated } of this.#causes.values()) {
      if (count <= LINES_PER_SECOND) continue;
      this.#write({ event: 'requests_failed', count: count - LINES_PER_SECOND, ...repeated });
    }
    this.#causes.clear();
  }
}

/** Defects are distinguished by the place that threw them, other failures by their message. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error) || error instanceof CatalogError) return reasonOf(error);
  return `${error.name} ${error.stack?.split('\n    at ', 2).join(' ')}`;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
