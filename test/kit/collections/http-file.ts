import assert from 'node:assert/strict';
import { filled, send, type Variables, valueAt } from './send.ts';

/**
 * Sends the requests of an .http file in order, as the REST clients of editors do, and compares the answers with the
 * comments `# Expect`. Resolves with the names of the requests.
 */
export async function runHttpFile(text: string, given: Readonly<Record<string, string>>): Promise<string[]> {
  const variables: Variables = new Map(Object.entries(given));
  const answers = new Map<string, unknown>();
  const names: string[] = [];
  for (const block of text.split(/^###.*$/m)) {
    for (const [, name = '', value = ''] of block.matchAll(/^@(\w+) = (.*)$/gm)) {
      const [, request = '', path = ''] = /^\{\{(\w+)\.response\.body\.\$\.(\S+)\}\}$/.exec(value) ?? [];
      if (request) variables.set(name, `${valueAt(answers.get(request), path)}`);
      else if (!variables.has(name)) variables.set(name, value);
    }
    const name = /^# @name (\w+)$/m.exec(block)?.[1];
    if (!name) continue;
    names.push(name);
    const { status, body } = await send(parseBlock(name, filled(block, variables)));
    answers.set(name, body);
    const [, expected = ''] = /^# Expect (.*)$/m.exec(filled(block, variables)) ?? [];
    const [wanted, ...values] = expected.split(', ');
    assert.equal(`${status}`, wanted, `${name}: ${JSON.stringify(body)}`);
    for (const [path = '', value] of values.map((each) => each.split(': '))) {
      assert.equal(`${valueAt(body, path)}`, value, `${name}: ${path}`);
    }
  }
  return names;
}

function parseBlock(name: string, block: string) {
  const [head = '', ...bodies] = block
    .replace(/^[#@].*\n/gm, '')
    .trim()
    .split('\n\n');
  const [first = '', ...lines] = head.split('\n');
  const [method = '', url = ''] = first.split(' ');
  return { name, method, url, headers: Object.fromEntries(lines.map(header)), body: bodies.join('\n\n') };
}

function header(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}
