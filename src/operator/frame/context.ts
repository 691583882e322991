import type { Environment } from '../../catalog/api-key.ts';
import type { Operator } from '../../catalog/audit.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { ConsoleSession } from '../../catalog/operator/session.ts';
import type { Storage } from '../../catalog/storage.ts';
import type { KeyUsage } from '../../catalog/usage.ts';
import type { Health } from '../../http/health.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { Clock } from '../../stdx/clock.ts';
import type { Events } from '../../telemetry/events.ts';
import type { RecentRequests } from '../../telemetry/recent-requests.ts';
import type { Imports } from '../catalog/import-job.ts';
import type { Vitals } from '../overview/vitals.ts';
import type { SentFile } from './multipart.ts';

/** A setting as the console shows it, with secrets masked. */
export interface ShownSetting {
  readonly name: string;
  readonly value: string;
  readonly from: string;
  readonly about: string;
}

/** The dependencies of the console. */
export interface ConsoleOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly limiter: Limiter;
  readonly health: Health;
  readonly events: Events;
  readonly vitals: Vitals;
  readonly imports: Imports;
  readonly recent: RecentRequests;
  readonly settings: readonly ShownSetting[];
  readonly environment: Environment;
  readonly version: string;
  readonly usesRedis: boolean;
  /** The base address of the API, including `/v1`. */
  url(): string;
}

/** A request of a signed-in operator. */
export interface ConsoleContext extends ConsoleOptions {
  readonly exchange: Exchange;
  readonly session: ConsoleSession;
  /** The CSRF token of the session. */
  readonly csrf: string;
  readonly by: Operator;
  /** Unix seconds. */
  readonly now: number;
  /** The form of a POST; empty otherwise. */
  readonly form: URLSearchParams;
  /** The file that came with the form. */
  readonly file?: SentFile | undefined;
  /** The keys with the most requests in the last minutes. */
  busiest(): Promise<readonly KeyUsage[]>;
}

/** A page or an action of the console. For a POST, session, origin and CSRF token were checked. */
export interface ConsoleRoute {
  readonly method: 'GET' | 'POST';
  /** Relative to `/console`; parameters begin with a colon. */
  readonly path: string;
  /** The largest body; default: that of a small form. */
  readonly bodyBytesMax?: number;
  handle(context: ConsoleContext): Answer | Promise<Answer>;
}

/** Redirects to a page of the console, optionally with a success notice: `done` is a key of `NOTICES`. */
export function seeOther(path: string, done?: string): Answer {
  const query = done === undefined ? '' : `?done=${done}`;
  return { status: 303, headers: ['Location', `/console${path}${query}`] };
}

/** The trimmed value of a form field; empty if it is missing. */
export function field(form: URLSearchParams, name: string): string {
  return form.get(name)?.trim() ?? '';
}

/** A whole number from a query parameter; `least` if it is missing, malformed or smaller. */
export function numberIn(query: URLSearchParams, name: string, least: number): number {
  const number = Number(/^\d{1,15}$/.exec(query.get(name) ?? '')?.[0] ?? least);
  return Math.max(least, number);
}

/** A 404 for a missing resource. */
export function nothingHere(what: string): CatalogError {
  return new CatalogError('not_found', `There is no such ${what}; it may have been removed`);
}
