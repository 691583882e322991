import type { ReferenceOperation } from '../reference/contract.ts';

/** Every deprecated operation with its dates and successor, as Markdown. */
export function deprecatedOperations(operations: readonly ReferenceOperation[]): string {
  const deprecated = operations.filter(({ sunset }) => sunset !== undefined);
  if (deprecated.length === 0) return 'No operation is deprecated.\n';
  return deprecated
    .map(
      ({ id, method, path, description }) => `### \`${id}\`

\`${method} /v1${path}\` in the [reference](/docs/reference#${id})

${description}
`,
    )
    .join('\n');
}
