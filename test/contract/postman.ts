import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { runInNewContext } from 'node:vm';

/** By name. */
type Variables = Map<string, string>;

interface Entry {
  readonly key: string;
  readonly value: string;
  readonly disabled?: boolean;
}

interface Item {
  readonly name: string;
  readonly event: readonly [{ readonly listen: 'test'; readonly script: { readonly exec: readonly string[] } }];
  readonly request: {
    readonly method: string;
    readonly header: readonly Entry[];
    readonly url: {
      readonly host: readonly string[];
      readonly path: readonly string[];
      readonly variable?: readonly Entry[];
      readonly query?: readonly Entry[];
    };
    readonly body?: { readonly raw: string };
  };
}

/** The parts of a Postman collection that a run reads. */
export interface PostmanCollection {
  readonly auth: { readonly type: string; readonly bearer: readonly Entry[] };
  readonly variable: readonly Entry[];
  readonly item: readonly { readonly name: string; readonly item: readonly Item[] }[];
}

/** Sends the requests of a collection in order, and runs their tests. Resolves with the names of the requests. */
export async function runPostman(
  { auth, variable, item }: PostmanCollection,
  given: Readonly<Record<string, string>>,
): Promise<string[]> {
  const own = variable.map(({ key, value }): [string, string] => [key, value]);
  const variables: Variables = new Map([...own, ...Object.entries(given)]);
  const authorization = { Authorization: `Bearer ${filled(auth.bearer[0]?.value ?? '', variables)}` };
  const names: string[] = [];
  for (const { name, event, request } of item.flatMap((folder) => folder.item)) {
    names.push(name);
    const { method, header, url, body } = request;
    const inPath = new Map((url.variable ?? []).map(({ key, value }) => [`:${key}`, value]));
    const path = url.path.map((segment) => inPath.get(segment) ?? segment).join('/');
    const query = (url.query ?? []).filter(({ disabled }) => !disabled).map(({ key, value }) => `${key}=${value}`);
    const response = await fetch(filled(`${url.host.join('.')}/${path}?${query.join('&')}`, variables), {
      method,
      headers: {
        ...authorization,
        ...Object.fromEntries(header.map(({ key, value }) => [key, filled(value, variables)])),
      },
      ...(body && { body: filled(body.raw, variables) }),
    });
    const text = await response.text();
    const sent = { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
    runTests(name, event[0].script.exec, sent, variables);
  }
  return names;
}

/** Gives a script as much of `pm` as the generated tests use. */
function runTests(
  request: string,
  script: readonly string[],
  { status, body }: { status: number; body: unknown },
  variables: Variables,
): void {
  let tests = 0;
  const pm = {
    test: (_name: string, run: () => void) => {
      tests += 1;
      run();
    },
    expect: (value: unknown) => ({
      to: { eql: (wanted: unknown) => assert.equal(`${value}`, `${wanted}`, `${request}: ${JSON.stringify(body)}`) },
    }),
    response: {
      json: () => body,
      to: { have: { status: (wanted: number) => assert.equal(status, wanted, `${request}: ${JSON.stringify(body)}`) } },
    },
    collectionVariables: {
      get: (name: string) => variables.get(name),
      set: (name: string, value: unknown) => variables.set(name, `${value}`),
    },
  };
  runInNewContext(script.join('\n'), { pm });
  assert.ok(tests > 0, `${request} has no test`);
}

/** Replaces `{{name}}` by the value of the variable, and `{{$guid}}` by a new one. */
function filled(text: string, variables: Variables): string {
  return text.replace(/\{\{(\$?\w+)\}\}/g, (_all, name: string) => {
    const value = name === '$guid' ? randomUUID() : variables.get(name);
    assert.ok(value, `nothing is set for ${name}`);
    return value;
  });
}
