import { type DescribedOperation, type Field, membersOf } from '../described.ts';
import { curl, sampleRequest } from '../samples/languages.ts';
import { PLACES, type ReferenceApi } from './reference.ts';
import { aboutField, capitalized, ended, typeOf } from './words.ts';

const IN_COMMON =
  'Every response carries the [limit headers](/docs/limits.md#headers) and an `X-Request-Id`. Beside the errors listed, every operation can respond with [those that all share](/docs/errors.md#codes). Unknown members of a body are ignored, unknown query parameters are not.';
const NOT_MODIFIED = 'if `If-None-Match` holds the current `ETag`';

/** The reference as Markdown. */
export function referenceText(api: ReferenceApi): string {
  const { info, servers, tags, operations, isPublic } = api;
  const parts = tags.flatMap(({ name, description }) => [
    `## ${capitalized(name)}`,
    `${description}.`,
    ...operations.filter(({ tag }) => tag === name).map((operation) => operationText(operation, api)),
  ]);
  const addresses = servers.map(({ description, url }) => `- ${description}: \`${url}\``).join('\n');
  return `${['# Reference', info.description, ...(isPublic ? [IN_COMMON] : []), addresses, ...parts].join('\n\n')}\n`;
}

/** Its sample is in curl alone, which says it all to the programs that read this. */
function operationText(operation: DescribedOperation, api: ReferenceApi): string {
  const { id, method, path, summary, description, permission, success, errors } = operation;
  const { status, schema, example } = success;
  const lists = [
    ...PLACES.map(([place, title]) => [title, operation.fields[place]] as const),
    [`Response ${status}${schema ? `, ${typeOf(schema)}` : ''}`, schema ? membersOf(schema) : []] as const,
  ];
  const codes = errors.map(({ status, code }) => `- [\`${code}\`](/docs/errors.md#${code}) (${status})`);
  const headers = Object.entries(success.headers).map(([name, about]) => `- \`${name}\`: ${ended(about)}`);
  return [
    `### ${summary}`,
    `\`${id}\`: \`${method} ${api.basePath}${path}\`${permission === 'any' ? '' : `, scope \`${permission}\``}`,
    description,
    ...lists
      .filter(([, fields]) => fields.length > 0)
      .map(([title, fields]) => `${title}:\n\n${fields.map(fieldText).join('\n')}`),
    ...(schema ? [] : [`Response ${status}, without a body.`]),
    ...(headers.length > 0 ? [`Response headers:\n\n${headers.join('\n')}`] : []),
    ...(operation.conditional ? [`Response 304, without a body: ${NOT_MODIFIED}.`] : []),
    ...(codes.length > 0 ? [`Errors:\n\n${codes.join('\n')}`] : []),
    `\`\`\`sh\n${curl(sampleRequest(operation, api))}\n\`\`\``,
    ...(schema ? [`\`\`\`json\n${JSON.stringify(example)}\n\`\`\``] : []),
  ].join('\n\n');
}

function fieldText(field: Field): string {
  const { name, isRequired, schema } = field;
  const about = aboutField(field);
  const inside = membersOf(schema).map((member) => fieldText(member).replaceAll(/^/gm, '  '));
  return [`- \`${name}\` (${typeOf(schema)}${isRequired ? ', required' : ''})${about && `: ${about}`}`, ...inside].join(
    '\n',
  );
}
