import { PLANS } from '../../catalog/plan.ts';
import { type Html, html } from './html.ts';

const CLIENT_EXAMPLE = `async function call(url, init) {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const response = await fetch(url, init);
    if (response.status !== 429 && response.status !== 503) return response;
    const seconds = Number(response.headers.get('Retry-After') ?? 1);
    const spread = Math.random() * 2 ** attempt;
    await new Promise((resolve) => setTimeout(resolve, (seconds + spread) * 1000));
  }
  throw new Error('The service is still busy');
}`;

/** /docs/limits: plans, windows, headers, and what happens over the limit. `banAfter` 0 disables bans. */
export function limitsContent(banAfter: number): Html {
  return html`<h1>Limits</h1>
<p class="lead">Each API key has a plan, which allows a number of requests per minute and per day. Both limits are exact.</p>
${plans()}
${windows()}
${headers()}
<h2 id="refusals">Over the limit</h2>
<p>A request over a limit is answered with <code>429</code>, <a href="/docs/errors#rate_limit_exceeded"><code>rate_limit_exceeded</code></a> or <a href="/docs/errors#daily_quota_exceeded"><code>daily_quota_exceeded</code></a>. <code>Retry-After</code> is the number of seconds until both windows have room again, <code>X-RateLimit-Reset</code> the same moment in Unix time. A request after that is admitted. Refused requests do not count.</p>
${banAfter > 0 ? bans(banAfter) : ''}
<h2 id="clients">What a client should do</h2>
<ol>
<li>After a <code>429</code> or <code>503</code>, wait the number of seconds in <code>Retry-After</code>, and longer each time it happens again.</li>
<li>Add a random part to the wait (jitter), so that clients do not all retry in the same second.</li>
<li>Watch <code>X-RateLimit-Remaining</code> and slow down before it reaches 0.</li>
<li>Send <code>If-None-Match</code> with lists. A 304 counts as a request, but saves the transfer.</li>
<li>Send an <code>Idempotency-Key</code> with every create, so that you can retry it safely.</li>
</ol>
<pre tabindex="0"><code>${CLIENT_EXAMPLE}</code></pre>`;
}

function plans(): Html {
  const rows = Object.entries(PLANS).map(
    ([name, { minute, day }]) =>
      html`<tr><th scope="row">${name}</th><td class="number">${grouped(minute)}</td><td class="number">${grouped(day)}</td></tr>\n`,
  );
  return html`<h2 id="plans">Plans</h2>
<table><thead><tr><th scope="col">Plan</th><th scope="col" class="number">Requests per minute</th><th scope="col" class="number">Requests per day</th></tr></thead>
<tbody>
${rows}<tr><th scope="row">enterprise</th><td class="number">agreed for each key</td><td class="number">agreed for each key</td></tr>
</tbody></table>
<p>A new key has the free plan unless it was issued with another. A change of plan takes effect within a second.</p>`;
}

function windows(): Html {
  return html`<h2 id="windows">Windows</h2>
<ul>
<li><strong>The minute</strong> begins with the first request of a key and ends 60 seconds later.</li>
<li><strong>The day</strong> is the calendar day in UTC.</li>
</ul>
<p>A request is admitted if both windows have room, and then counts in both. Every request counts the same, whether it succeeds or fails, except <code>GET /v1/rate_limit</code>, which is free. Requests answered with <code>401</code> belong to no key and do not count. The old and the new secret of a rotated key share one quota.</p>`;
}

function headers(): Html {
  return html`<h2 id="headers">Headers</h2>
<p>Every response of the API reports the state of the key’s limits. The three <code>X-RateLimit</code> headers describe the window with fewer requests left.</p>
<div class="wide" tabindex="0" role="region" aria-labelledby="headers"><table><thead><tr><th scope="col">Header</th><th scope="col">Meaning</th><th scope="col">Example</th></tr></thead>
<tbody>
<tr><th scope="row"><code>X-RateLimit-Limit</code></th><td>Requests allowed per window</td><td><code>60</code></td></tr>
<tr><th scope="row"><code>X-RateLimit-Remaining</code></th><td>Requests left in this window</td><td><code>59</code></td></tr>
<tr><th scope="row"><code>X-RateLimit-Reset</code></th><td>When the window resets, in Unix seconds</td><td><code>1767225660</code></td></tr>
<tr><th scope="row"><code>RateLimit-Policy</code></th><td>Both windows: quota <code>q</code>, length <code>w</code> in seconds</td><td><code>"minute";q=60;w=60, "day";q=1000;w=86400</code></td></tr>
<tr><th scope="row"><code>RateLimit</code></th><td>Both windows now: remaining <code>r</code>, seconds to the reset <code>t</code></td><td><code>"minute";r=59;t=42, "day";r=999;t=33333</code></td></tr>
<tr><th scope="row"><code>Retry-After</code></th><td>Seconds to wait; with <code>429</code> and <code>503</code> only</td><td><code>42</code></td></tr>
</tbody></table></div>
<p>Without a valid key, limit and remaining are <code>0</code>, and the reset is the current second.</p>`;
}

function bans(banAfter: number): Html {
  return html`<h2 id="bans">Bans</h2>
<p>A client that keeps sending requests after a <code>429</code> can be banned temporarily. Refusals are counted for 60 seconds from the first one; those in the first seconds are left out, because they were already in flight. A key is banned if the count exceeds the requests per minute of its plan and is at least ${grouped(banAfter)}. A client that retries once a second is not banned.</p>
<p>The first ban lasts 1 minute, the next ones 5, 15 and 60 minutes. Requests during a ban do not extend it. After a day without a ban the sequence starts again. The response is <code>429</code> <a href="/docs/errors#key_banned"><code>key_banned</code></a>; its message says when the ban ends.</p>`;
}

function grouped(number: number): string {
  return number.toLocaleString('en-US');
}
