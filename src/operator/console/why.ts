import type { ApiKey } from '../../catalog/api-key.ts';
import { banAt } from '../../catalog/ban.ts';
import { type Html, html } from '../../http/html.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import type { RecentRequest } from '../../telemetry/recent-requests.ts';
import { findKey } from '../api/keys.ts';
import { keysLike } from '../api/why.ts';
import { type ConsoleContext, onGet, seeOther, type View } from './frame/context.ts';
import { count, foreign, secondOf } from './frame/element.ts';
import { addressOf, SEARCH_CHARACTERS_MAX, searchText } from './frame/list.ts';
import { recordedLinks } from './history.ts';
import { banHistory, banPanel, keyActions, stateBadge, windows } from './keys.ts';
import { ownInstance, statusBadge, verdict } from './requests.ts';
import { routeOf } from './usage.ts';

/** “Why was this refused?”: from a request id or a key to the reason, and to what helps. */
export const whyRoutes = [onGet('/requests/why', showWhy)];

async function showWhy(context: ConsoleContext): Promise<View | Answer> {
  const text = searchText(context.exchange.query, 'q');
  const request = context.service.recent.find(text);
  const changed = text === '' ? html`` : await recordedLinks(context, text);
  const [key, other] = request || text === '' ? [] : await keysLike(context, text);
  // The page of a key is the answer about it.
  if (key && !other && changed.text === '') return seeOther(`/keys/${key.id}`);
  const keys = html`<p role="status"><a href="/console${addressOf('/keys', { q: text })}">Keys that this may mean</a></p>`;
  const isUnknown = text !== '' && !request && changed.text === '';
  const content = html`<p class="crumb"><a href="/console/requests">Requests</a></p>
<h1>Why was this refused?</h1>
<form class="search" role="search" aria-label="What to explain" action="/console/requests/why"><label for="q">Request id; name, owner, id or prefix of a key; id or <code>Idempotency-Key</code> of an order</label>
<div class="row"><input id="q" name="q" type="search" value="${text}" maxlength="${SEARCH_CHARACTERS_MAX}" autocomplete="off" spellcheck="false"><button class="primary">Explain</button></div>
<p class="hint">Every answer has its request id in the header <code>X-Request-Id</code>.</p></form>
${changed}${request ? await aboutRequest(context, request) : key ? keys : isUnknown ? unknown(context, text) : ''}
<p class="scope">${ownInstance(context)}</p>`;
  return { section: '/requests', title: 'Why was this refused?', content };
}

function unknown({ usesRedis }: ConsoleContext, text: string): Html {
  return html`<section aria-labelledby="unknown-heading"><h2 id="unknown-heading">Neither a kept request nor a key</h2>
<p role="status">This instance keeps no request with the id <code>${text}</code>, and no key has it in its name, owner, id or prefix.</p>
<ul><li>A request with an unknown key gets 401 and is not kept: ask for the beginning of the key and look it up here. That of a secret that was rotated is <a href="/console${addressOf('/audit', { q: text })}">in the audit</a>.</li>
${usesRedis ? html`<li>Another instance may have answered it: look in its console, or in the logs.</li>` : ''}
<li>The log has a line with its <code>requestId</code> for a 5xx, up to ten of one cause a second, and for every request where <code>ACCESS_LOG</code> is <code>all</code>.</li></ul></section>`;
}

async function aboutRequest(context: ConsoleContext, request: RecentRequest): Promise<Html> {
  const key = await findKey(context.caller, request.keyId);
  const { requestId, at, durationMs } = request;
  return html`${verdict(request, key)}
<h2>The request</h2>
<dl class="facts"><dt>Time</dt><dd>${secondOf(at)}</dd><dt>Answer</dt><dd>${statusBadge(request)}, after ${durationMs.toFixed(1)} ms</dd><dt>Route</dt><dd>${routeOf(request)}</dd><dt>Request id</dt><dd><code>${requestId}</code></dd>
${left('Minute', request.minuteRemaining)}${left('Day (UTC)', request.dayRemaining)}</dl>
<h2>Its key</h2>
${keyHead(context, key)}
${await windows(context, key)}
<p><a href="/console/requests?key=${key.id}">Recent requests of the key</a></p>
${await banHistory(context, key)}`;
}

/** The state of the key now, its ban, and what the operator can do. */
function keyHead(context: ConsoleContext, key: ApiKey): Html {
  const ban = banAt(key, context.now);
  return html`<div class="heading key-now"><p><a href="/console/keys/${key.id}"><strong>${foreign(key.name)}</strong></a> ${stateBadge(key, context.now)} <span class="soft">plan ${key.plan}: ${count(key.limits.minute)} a minute, ${count(key.limits.day)} a day</span></p>${keyActions(context, key)}</div>
${ban ? banPanel(context, key.id, ban) : ''}`;
}

/** The requests that a window had left. */
function left(name: string, remaining: number | undefined): Html {
  const words = remaining === undefined ? html`<span class="soft">not counted</span>` : `${count(remaining)} left`;
  return html`<dt>${name}, then</dt><dd>${words}</dd>`;
}
