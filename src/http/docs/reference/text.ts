import { LANGUAGES } from '../samples/languages.ts';
import { sampleRequest } from '../samples/request.ts';
import { boundsOf, ended } from './bounds.ts';
import type { Field, ReferenceApi, ReferenceOperation } from './contract.ts';
import { titleOf } from './reference.ts';

/** Samples in the Markdown of the reference, which is read by programs: curl alone says it all. */
const [CURL] = LANGUAGES;

const IN_COMMON =
  'Every response carries the [limit headers](/docs/limits.md#headers) and an `X-Request-Id`. Beside the errors listed, every operation can respond with [those that all share](/docs/errors.md#codes). Unknown members of a body are ignored, unknown query parameters are not.';
const NOT_MODIFIED = 'if `If-None-Match` holds the current `ETag`';

/** The reference as Markdown. */
export function referenceText(api: ReferenceApi): string {
  const { operations } = api;
  const { info, servers, tags } = api.described;
  const parts = tags.flatMap(({ name, description }) => [
    `## ${titleOf(name)}`,
    `${description}.`,
    ...operations.filter(({ tag }) => tag === name).map((operation) => operationText(operation, api)),
  ]);
  const addresses = servers.map(({ description, url }) => `- ${description}: \`${url}\``).join('\n');
  return `${['# Reference', info.description, ...(api.hasGuide ? [IN_COMMON] : []), addresses, ...parts].join('\n\n')}\n`;
}

function operationText(operation: ReferenceOperation, api: ReferenceApi): string {
  const { id, method, path, summary, description, scopes, inPath, inQuery, inHeader, body, success, errors } =
    operation;
  const sample = CURL?.write(sampleRequest(operation, api), id);
  const lists = [
    ['Path', inPath],
    ['Query', inQuery],
    ['Headers', inHeader],
    ['Body', body?.fields ?? []],
    [`Response ${success.status}${success.body ? `, ${success.body.type}` : ''}`, success.body?.fields ?? []],
  ] as const;
  const codes = errors.map(
    ({ status, code, message }) =>
      `- [\`${code}\`](/docs/errors.md#${code}) (${status})${message === undefined ? '' : `, such as \`${message}\``}`,
  );
  const headers = success.headers.map(({ name, description: about }) => `- \`${name}\`: ${ended(about)}`);
  return [
    `### ${summary}`,
    `\`${id}\`: \`${method} ${api.basePath}${path}\`${scopes.length > 0 ? `, scope \`${scopes.join(' ')}\`` : ''}`,
    description,
    ...lists
      .filter(([, fields]) => fields.length > 0)
      .map(([title, fields]) => `${title}:\n\n${fields.map(fieldText).join('\n')}`),
    ...(success.body ? [] : [`Response ${success.status}, without a body.`]),
    ...(headers.length > 0 ? [`Response headers:\n\n${headers.join('\n')}`] : []),
    ...(operation.conditional ? [`Response 304, without a body: ${NOT_MODIFIED}.`] : []),
    ...(codes.length > 0 ? [`Errors:\n\n${codes.join('\n')}`] : []),
    `\`\`\`sh\n${sample}\n\`\`\``,
    ...(success.body ? [`\`\`\`json\n${JSON.stringify(success.body.example)}\n\`\`\``] : []),
  ].join('\n\n');
}

function fieldText(field: Field): string {
  const { name, type, isRequired, description, members } = field;
  const about = [description && ended(description), boundsOf(field)].filter(Boolean).join(' ');
  const inside = members.map((member) => fieldText(member).replaceAll(/^/gm, '  '));
  return [`- \`${name}\` (${type}${isRequired ? ', required' : ''})${about && `: ${about}`}`, ...inside].join('\n');
}
