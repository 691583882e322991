import type { Environment } from '../../../catalog/api-key.ts';
import { type ConsoleSession, includesRole, type Role } from '../../../catalog/operator/access.ts';
import type { Storage } from '../../../catalog/storage.ts';
import type { Health } from '../../../http/health.ts';
import type { Html } from '../../../http/html.ts';
import type { Answer, Exchange } from '../../../http/transport/exchange.ts';
import type { Limiter } from '../../../limits/limiter.ts';
import type { Time } from '../../../stdx/time.ts';
import type { Events } from '../../../telemetry/events.ts';
import type { Finding } from '../../../telemetry/finding.ts';
import type { Metrics } from '../../../telemetry/metrics.ts';
import type { CsvExports } from '../../api/csv.ts';
import type { Caller, ServiceParts } from '../../api/operation.ts';
import type { IdentitySettings } from '../../session/identity.ts';
import type { Logins } from '../../session/logins.ts';
import type { createTraffic } from '../traffic.ts';

export interface ConsoleOptions {
  readonly storage: Storage;
  readonly logins: Logins;
  /** The secret with which commands of this machine sign their requests. */
  readonly localSecret: string;
  /** The sign-in by a proxy in front; undefined without one. */
  readonly identity?: IdentitySettings | undefined;
  readonly time: Time;
  readonly limiter: Limiter;
  readonly health: Health;
  readonly events: Events;
  readonly service: ServiceParts;
  readonly metrics: Metrics;
  /** Runs the checks of `doctor`, off the event loop; undefined where they cannot be run. */
  readonly examine?: (() => Promise<readonly Finding[]>) | undefined;
  readonly environment: Environment;
  readonly version: string;
  readonly usesRedis: boolean;
  /** The base address of the API, including `/v1`. */
  url(): string;
}

/** The findings of `doctor`, and their moment in Unix seconds. */
export interface Examined {
  readonly at: number;
  readonly findings: readonly Finding[];
}

/** A request of a signed-in operator. */
export interface ConsoleContext extends ConsoleOptions {
  readonly exchange: Exchange;
  readonly session: ConsoleSession;
  readonly csrf: string;
  /** The operator, as operations take one. */
  readonly caller: Caller & Pick<ConsoleOptions, 'service'>;
  readonly exports: CsvExports;
  /** Unix seconds. */
  readonly now: number;
  /** The parameter of the route; empty without one. */
  readonly id: string;
  /** The form of a POST; empty otherwise. */
  readonly form: URLSearchParams;
  /** The requests of late, once there is something to compare with. */
  readonly traffic: ReturnType<typeof createTraffic>;
  /** Gives the latest findings of `doctor`, once there are any; undefined where it cannot be run. */
  readonly examination: (() => Examined | undefined) | undefined;
}

/** A page; the frame is drawn around it. */
export interface View {
  /** The current item of the navigation; undefined for none. */
  readonly section?: string;
  readonly title: string;
  readonly content: Html;
  readonly status?: number;
}

/** A page or an action of the console. For a POST, session, origin and CSRF token were checked. */
export interface ConsoleRoute {
  readonly method: 'GET' | 'POST';
  /** Relative to `/console`; at most one parameter, which begins with a colon. */
  readonly path: string;
  /** The least role. */
  readonly role: Role;
  handle(context: ConsoleContext): View | Answer | Promise<View | Answer>;
}

/** A page. */
export function onGet(path: string, handle: ConsoleRoute['handle'], role: Role = 'viewer'): ConsoleRoute {
  return { method: 'GET', path, role, handle };
}

/** An action. */
export function onPost(path: string, handle: ConsoleRoute['handle'], role: Role = 'admin'): ConsoleRoute {
  return { method: 'POST', path, role, handle };
}

/** True if the role of the session suffices. */
export function may({ session }: Pick<ConsoleContext, 'session'>, role: Role): boolean {
  return includesRole(session.role, role);
}

/** Redirects to a page of the console, optionally with a success notice: `done` names it. */
export function seeOther(path: string, done?: string): Answer {
  const query = done === undefined ? '' : `${path.includes('?') ? '&' : '?'}done=${done}`;
  return { status: 303, headers: ['Location', `/console${path}${query}`] };
}
