import type { ApiKey } from '../../catalog/api-key.ts';
import { type Html, html } from '../../http/docs/html.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import type { RecentRequest } from '../../telemetry/recent-requests.ts';
import { type ConsoleContext, type ConsoleRoute, searchText } from '../frame/context.ts';
import { count, foreign, moment, onlyFor } from '../frame/element.ts';
import { page } from '../frame/layout.ts';
import { banHistory, banPanel } from '../keys/key.ts';
import { keyLike, ownInstance } from './requests.ts';

/** “Why was this refused?”: from a request id or a key to the reason, and to what helps. */
export const whyRoutes: readonly ConsoleRoute[] = [{ method: 'GET', path: '/requests/why', handle: why }];

async function why(context: ConsoleContext): Promise<Answer> {
  const text = searchText(context.exchange.query, 'q');
  const content = html`<p class="crumb"><a href="/console/requests">Requests</a></p>
<h1>Why was this refused?</h1>
<form class="search" role="search" action="/console/requests/why"><label for="q">Request id (X-Request-Id), or the first characters of a key</label>
<div class="row"><input id="q" name="q" type="search" value="${text}"><button>Look up</button></div></form>
${text === '' ? html`<p class="soft">Requests are remembered for a while. ${ownInstance()}</p>` : await answerFor(context, text)}`;
  return page(context, { section: '/requests', title: 'Why was this refused?', content });
}

async function answerFor(context: ConsoleContext, text: string): Promise<Html> {
  const { recent, storage } = context;
  const byId = recent.find(text);
  const key = byId ? await storage.keys.find(byId.keyId) : await keyLike(context, text);
  if (!key) {
    return html`<p role="status">No kept request has this id, and no key these characters. A request without a valid key has status 401 and is not kept.</p>
<p class="soft">${ownInstance()}</p>`;
  }
  const request = byId ?? latestRefusal(context, key.id);
  const about = request
    ? requestFacts(request)
    : html`<p role="status">No refused request of this key is kept. <span class="soft">${ownInstance()}</span></p>`;
  return html`<h2><a href="/console/keys/${key.id}">${foreign(key.name)}</a></h2>
${about}
${await banNow(context, key)}
${onlyFor(context, 'keys', helpful(key))}
${await banHistory(context, key)}`;
}

/** The latest 429 if there is one, else the latest error. */
function latestRefusal({ recent }: ConsoleContext, keyId: string): RecentRequest | undefined {
  const [overLimit] = recent.list({ keyId, status: '429', limit: 1 });
  return (
    overLimit ??
    recent.list({ keyId, status: '4xx', limit: 1 })[0] ??
    recent.list({ keyId, status: '5xx', limit: 1 })[0]
  );
}

function requestFacts(request: RecentRequest): Html {
  const { requestId, at, method, route, status, code, reason, minuteRemaining, dayRemaining } = request;
  const left = (remaining: number | undefined) =>
    remaining === undefined ? 'not counted' : `${count(remaining)} left`;
  const sentence =
    status < 400
      ? 'It was not refused.'
      : `It was answered with ${status}${code ? ` ${code}` : ''}${reason ? `: ${reason}` : ''}.`;
  return html`<p role="status"><strong>${sentence}</strong></p>
<dl class="facts"><dt>Request</dt><dd><code>${requestId}</code></dd><dt>At</dt><dd>${moment(at)}</dd><dt>Route</dt><dd>${method} <code>${route}</code></dd>
<dt>Minute then</dt><dd>${left(minuteRemaining)}</dd><dt>Day then</dt><dd>${left(dayRemaining)}</dd></dl>`;
}

async function banNow(context: ConsoleContext, key: ApiKey): Promise<Html> {
  const { ban } = await context.storage.limits.memory(key.id);
  return ban && ban.endsAt > context.now ? banPanel(context, key, ban) : html``;
}

function helpful(key: ApiKey): Html {
  if (key.revokedAt !== null) return html`<p>The key is revoked, which is final.</p>`;
  return html`<p>The plan is ${key.plan}: ${count(key.limits.minute)} a minute, ${count(key.limits.day)} a day. <a href="/console/keys/${key.id}/edit">Change the plan</a></p>`;
}
