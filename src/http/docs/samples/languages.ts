import { clientSample } from './client.ts';
import { json, literal } from './literal.ts';
import type { SampleRequest } from './request.ts';

/** A language that samples are written in. */
export interface Language {
  readonly id: string;
  readonly label: string;
  /** Undefined if the language has no sample for the operation. */
  readonly write: (request: SampleRequest, operationId: string) => string | undefined;
}

/** The languages, in the order of the tabs. Each sample takes the key or token from its variable and runs as it is. */
export const LANGUAGES: readonly Language[] = [
  { id: 'sh', label: 'curl', write: curl },
  { id: 'ts', label: 'TypeScript', write: clientSample },
  { id: 'js', label: 'JavaScript', write: javaScript },
  { id: 'py', label: 'Python', write: python },
  { id: 'go', label: 'Go', write: go },
];

function curl({ method, url, query, body, idempotencyKey, variable }: SampleRequest): string {
  const address = withQuery(url, query);
  const options = [`-H "Authorization: Bearer $${variable}"`];
  if (method !== (body === undefined ? 'GET' : 'POST')) options.unshift(`-X ${method}`);
  if (idempotencyKey) options.push(`-H 'Idempotency-Key: ${idempotencyKey}'`);
  if (body !== undefined) {
    options.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(body).replaceAll("'", `'\\''`)}'`);
  }
  return [
    `curl ${/[?&]/.test(address) ? `'${address}'` : address}`,
    ...options.map((option) => indented(option, 2)),
  ].join(' \\\n');
}

function javaScript({ method, url, query, body, idempotencyKey, variable, hasAnswerBody }: SampleRequest): string {
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}',`]),
    ...(body === undefined && !idempotencyKey
      ? [`headers: { Authorization: \`Bearer \${process.env.${variable}}\` },`]
      : [
          'headers: {',
          `  Authorization: \`Bearer \${process.env.${variable}}\`,`,
          ...(idempotencyKey ? [`  'Idempotency-Key': '${idempotencyKey}',`] : []),
          ...(body === undefined ? [] : ["  'Content-Type': 'application/json',"]),
          '},',
        ]),
    ...(body === undefined ? [] : [`body: JSON.stringify(${literal(body)}),`]),
  ];
  return `const response = await fetch('${withQuery(url, query)}', {
${options.map((option) => indented(option, 2)).join('\n')}
});
console.log(response.status${hasAnswerBody ? ', await response.json()' : ''});`;
}

function python({ method, url, query, body, idempotencyKey, variable, hasAnswerBody }: SampleRequest): string {
  const options = [
    `"${url}",`,
    ...(idempotencyKey
      ? [
          'headers={',
          `    "Authorization": f"Bearer {os.environ['${variable}']}",`,
          `    "Idempotency-Key": "${idempotencyKey}",`,
          '},',
        ]
      : [`headers={"Authorization": f"Bearer {os.environ['${variable}']}"},`]),
    ...(Object.keys(query).length === 0 ? [] : [`params=${json(query)},`]),
    ...(body === undefined ? [] : [`json=${json(body)},`]),
    'timeout=30,',
  ];
  return `import os

import requests

response = requests.${method.toLowerCase()}(
${options.map((option) => indented(option, 4)).join('\n')}
)
print(response.status_code${hasAnswerBody ? ', response.json()' : ''})`;
}

function go({ method, url, query, body, idempotencyKey, variable }: SampleRequest): string {
  const imports = ['fmt', 'io', 'log', 'net/http', 'os', ...(body === undefined ? [] : ['strings'])];
  const lines = [
    ...(body === undefined ? [] : [`body := strings.NewReader(\`${json(body)}\`)`]),
    `request, err := http.NewRequest("${method}", "${withQuery(url, query)}", ${body === undefined ? 'nil' : 'body'})`,
    ...FATAL,
    `request.Header.Set("Authorization", "Bearer "+os.Getenv("${variable}"))`,
    ...(idempotencyKey ? [`request.Header.Set("Idempotency-Key", "${idempotencyKey}")`] : []),
    ...(body === undefined ? [] : ['request.Header.Set("Content-Type", "application/json")']),
    'response, err := http.DefaultClient.Do(request)',
    ...FATAL,
    'defer response.Body.Close()',
    'fmt.Println(response.Status)',
    'io.Copy(os.Stdout, response.Body)',
  ];
  return `package main

import (
${imports.map((name) => `\t"${name}"`).join('\n')}
)

func main() {
${lines.map((line) => `\t${line}`).join('\n')}
}`;
}

const FATAL = ['if err != nil {', '\tlog.Fatal(err)', '}'];

function withQuery(url: string, query: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(query).toString();
  return text ? `${url}?${text}` : url;
}

function indented(text: string, columns: number): string {
  return text.replaceAll(/^(?=.)/gm, ' '.repeat(columns));
}
