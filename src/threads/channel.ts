import { type AnyErrorCode, CatalogError } from '../catalog/error.ts';

/** One end of a pair of ports, or a thread seen from the one that started it. */
interface Port {
  postMessage(message: readonly Entry[]): void;
  on(event: 'message', listener: (message: readonly Entry[]) => void): unknown;
}

/** What the other end of a channel does: its functions by name, whose arguments and results can be cloned. */
type Functions = { readonly [Name in string]: (...args: never[]) => unknown };

type Entry =
  | readonly [kind: 'call', id: number, name: string, args: readonly unknown[]]
  | readonly [kind: 'tell', id: number, name: string, args: readonly unknown[]]
  | readonly [kind: 'done', id: number, value: unknown]
  | readonly [kind: 'failed', id: number, failure: Failure];

/** An error on its way to another thread. */
export interface Failure {
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: string | undefined;
  readonly isOfCatalog: boolean;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * Calls functions of another thread and serves its calls, in the order in which they were made. What one turn of the
 * event loop says goes out in one message.
 */
export class Channel<Theirs extends Functions> {
  readonly #port: Port;
  readonly #own: Functions;
  readonly #waiting = new Map<number, Waiting>();
  #calls = 0;
  #entries: Entry[] = [];

  constructor(port: Port, own: Functions) {
    this.#port = port;
    this.#own = own;
    port.on('message', (entries) => {
      for (const entry of entries) this.#take(entry);
    });
  }

  /** Calls a function of the other thread. Rejects as it throws: with the same code, if it is a `CatalogError`. */
  call<Name extends keyof Theirs & string>(
    name: Name,
    ...args: Parameters<Theirs[Name]>
  ): Promise<Awaited<ReturnType<Theirs[Name]>>> {
    this.#calls += 1;
    const id = this.#calls;
    return new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send(['call', id, name, args]);
    }) as Promise<Awaited<ReturnType<Theirs[Name]>>>;
  }

  /** The same without an answer. */
  tell<Name extends keyof Theirs & string>(name: Name, ...args: Parameters<Theirs[Name]>): void {
    this.#send(['tell', 0, name, args]);
  }

  #send(entry: Entry): void {
    if (this.#entries.length === 0) setImmediate(() => this.#flush());
    this.#entries.push(entry);
  }

  #flush(): void {
    const entries = this.#entries;
    this.#entries = [];
    this.#port.postMessage(entries);
  }

  #take(entry: Entry): void {
    const [kind, id] = entry;
    if (kind === 'call') {
      Promise.try(() => this.#run(entry)).then(
        (value) => this.#send(['done', id, value]),
        (error) => this.#send(['failed', id, toFailure(error)]),
      );
    } else if (kind === 'tell') {
      this.#run(entry);
    } else {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (kind === 'done') waiting?.resolve(entry[2]);
      else waiting?.reject(fromFailure(entry[2]));
    }
  }

  #run([, , name, args]: Extract<Entry, readonly ['call' | 'tell', ...unknown[]]>): unknown {
    const work = this.#own[name];
    if (!work) throw new Error(`The other thread called ${name}, which there is not`);
    return work(...(args as never[]));
  }
}

/** An error as it is sent to another thread. */
export function toFailure(error: unknown): Failure {
  const { message, stack, code }: NodeJS.ErrnoException = error instanceof Error ? error : new Error(`${error}`);
  return { message, stack, code, isOfCatalog: error instanceof CatalogError };
}

/** The error that another thread sent. */
export function fromFailure({ message, stack, code, isOfCatalog }: Failure): Error {
  const error = isOfCatalog ? new CatalogError(code as AnyErrorCode, message) : new Error(message);
  return Object.assign(error, { stack, ...(code !== undefined && { code }) });
}
