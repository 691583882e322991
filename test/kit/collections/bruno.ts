import assert from 'node:assert/strict';
import { dirname } from 'node:path/posix';
import { filled, send, type Variables, valueAt } from './send.ts';

/** The lines of a block, or none. */
type Blocks = (name: string) => readonly (readonly [key: string, value: string])[];

/**
 * Sends the requests of a Bruno folder in the order of its numbers, and checks their assertions. Takes the texts by
 * path, and resolves with the names of the requests.
 */
export async function runBruno(
  files: ReadonlyMap<string, string>,
  given: Readonly<Record<string, string>>,
): Promise<string[]> {
  const variables: Variables = new Map(Object.entries(given));
  const seq = (text = '') => Number(/^ {2}seq: (\d+)$/m.exec(text)?.[1]);
  const placeOf = (path: string) => seq(files.get(`${dirname(path)}/folder.bru`)) * 1_000 + seq(files.get(path));
  const requests = [...files]
    .filter(([, text]) => /^ {2}type: http$/m.test(text))
    .sort(([one], [other]) => placeOf(one) - placeOf(other));
  const [[, token = ''] = []] = blocksOf(files.get('collection.bru') ?? '')('auth:bearer');
  for (const [path, text] of requests) await runRequest(path, text, { token, variables });
  return requests.map(([, text]) => /^ {2}name: (\w+)$/m.exec(text)?.[1] ?? '');
}

async function runRequest(
  path: string,
  text: string,
  { token, variables }: { token: string; variables: Variables },
): Promise<void> {
  const blocks = blocksOf(text);
  const [, method = ''] = /^(get|post|patch|delete) \{$/m.exec(text) ?? [];
  const { url = '' } = Object.fromEntries(blocks(method));
  const inPath = new Map(blocks('params:path').map(([key, value]) => [`:${key}`, value]));
  const { status, body } = await send({
    name: path,
    method: method.toUpperCase(),
    url: filled(
      url.replace(/(?<=\/):\w+/g, (segment) => inPath.get(segment) ?? segment),
      variables,
    ),
    headers: {
      Authorization: `Bearer ${filled(token, variables)}`,
      ...(text.includes('body: json') && { 'Content-Type': 'application/json' }),
      ...Object.fromEntries(blocks('headers').map(([key, value]) => [key, filled(value, variables)])),
    },
    body: filled(/^body:json \{\n(.*?)^\}$/ms.exec(text)?.[1] ?? '', variables) || undefined,
  });
  for (const [variable, at] of blocks('vars:post-response')) {
    variables.set(variable, `${valueAt({ res: { body } }, at)}`);
  }
  const assertions = blocks('assert');
  assert.ok(assertions.length > 0, `${path} asserts nothing`);
  for (const [at, expected] of assertions) {
    const value = valueAt({ res: { status, body } }, at);
    assert.equal(`eq ${value}`, filled(expected, variables), `${path}: ${at}: ${JSON.stringify(body)}`);
  }
}

function blocksOf(text: string): Blocks {
  return (name) => {
    const [, inside = ''] = new RegExp(`^${name} \\{\\n(.*?)^\\}$`, 'ms').exec(text) ?? [];
    return [...inside.matchAll(/^ {2}(\S+?): (.*)$/gm)].map(([, key = '', value = '']) => [key, value]);
  };
}
