import assert from 'node:assert/strict';
import { test } from 'node:test';
import { html } from './html.ts';

test('every value in a template is escaped, in text and in attributes', () => {
  const hostile = `<script>alert("1")</script>&'`;
  const escaped = '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;';
  assert.equal(html`<p title="${hostile}">${hostile}</p>`.text, `<p title="${escaped}">${escaped}</p>`);
});
