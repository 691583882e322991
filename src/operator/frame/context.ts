import type { Environment } from '../../catalog/api-key.ts';
import type { Operator } from '../../catalog/audit.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { ConsoleSession } from '../../catalog/session.ts';
import type { Storage } from '../../catalog/storage.ts';
import type { KeyUsage } from '../../catalog/usage.ts';
import type { Health } from '../../http/health.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import type { Limiter } from '../../limits/limiter.ts';
import type { Clock } from '../../stdx/clock.ts';
import type { Events } from '../../telemetry/events.ts';
import type { Imports } from '../catalog/import-job.ts';
import type { Vitals } from '../overview/vitals.ts';

/** A setting as the console shows it: whatever is secret in it is masked already. */
export interface ShownSetting {
  readonly name: string;
  readonly value: string;
  readonly from: string;
  readonly about: string;
}

/** What the console works with. */
export interface ConsoleOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly limiter: Limiter;
  readonly health: Health;
  readonly events: Events;
  readonly vitals: Vitals;
  readonly imports: Imports;
  readonly settings: readonly ShownSetting[];
  readonly environment: Environment;
  readonly version: string;
  readonly usesRedis: boolean;
  /** The base address of the API, `/v1` included. */
  url(): string;
}

/** One request of an operator whose session is open. */
export interface ConsoleContext extends ConsoleOptions {
  readonly exchange: Exchange;
  readonly session: ConsoleSession;
  /** What every form of the session carries. */
  readonly csrf: string;
  readonly by: Operator;
  /** Unix seconds. */
  readonly now: number;
  /** What was sent, if it was a POST. */
  readonly form: FormData;
  /** The keys that called the most in the last minutes. */
  busiest(): Promise<readonly KeyUsage[]>;
}

/** A page of the console, or something that it does. A POST has passed the checks of session, origin and token. */
export interface ConsoleRoute {
  readonly method: 'GET' | 'POST';
  /** Below `/console`; parameters begin with a colon. */
  readonly path: string;
  /** The largest body, if it is not that of a small form. */
  readonly bodyBytesMax?: number;
  handle(context: ConsoleContext): Answer | Promise<Answer>;
}

/** Leads to a page of the console, which may tell what was done (`NOTICES`). */
export function seeOther(path: string, done?: string): Answer {
  const query = done === undefined ? '' : `?done=${done}`;
  return { status: 303, headers: ['Location', `/console${path}${query}`] };
}

/** What was typed into a field of a form; empty if there is none. */
export function field(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
}

/** A page number or an id out of a query; the least if there is none, or nonsense. */
export function numberIn(query: URLSearchParams, name: string, least: number): number {
  const number = Number(/^\d{1,15}$/.exec(query.get(name) ?? '')?.[0] ?? least);
  return Math.max(least, number);
}

/** Something was asked for that there is not. */
export function nothingHere(what: string): CatalogError {
  return new CatalogError('not_found', `There is no such ${what}; it may have been removed`);
}
