import type { Limits } from './options.ts';

/** A response with its metadata. */
export interface ApiResponse<Data> {
  /** What the call without `withResponse` resolves with. */
  readonly data: Data;
  /** The status of the last response: 304 if the cached data is still current. */
  readonly status: number;
  /** The headers of the last response. */
  readonly headers: Headers;
  /** The id of the request in the log of the service. */
  readonly requestId: string | undefined;
  /** The limit headers of the response; undefined without them. */
  readonly limits: Limits | undefined;
}

/** The data of a call; `withResponse` gives status and headers as well. The call is sent in either case, and once. */
export class ApiPromise<Data> extends Promise<Data> {
  readonly #response: Promise<ApiResponse<Data>>;

  /** Only the client creates instances. */
  constructor(response: Promise<ApiResponse<Data>>) {
    super((resolve, reject) => {
      response.then(({ data }) => resolve(data), reject);
    });
    this.#response = response;
  }

  /** `then`, `catch` and `finally` return ordinary promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** Resolves with the data and with status, headers, request id and limits; rejects like the call. */
  withResponse(): Promise<ApiResponse<Data>> {
    // A failure is reported by the promise that is returned, so this one must not count as unhandled.
    this.catch(() => {});
    return this.#response;
  }
}
