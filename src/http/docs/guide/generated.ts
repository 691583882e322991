import { ERROR_CODES, type ErrorCode } from '../../../catalog/error.ts';
import { STATUS_OF } from '../../errors.ts';
import { ERROR_GUIDE } from '../error-guide.ts';
import type { ReferenceOperation } from '../reference/contract.ts';

/** Every error code with its meaning, cause, remedy and an example, as Markdown. */
export function errorCodes(): string {
  const byStatus = ERROR_CODES.toSorted((one, other) => STATUS_OF[one] - STATUS_OF[other]);
  return byStatus.map(errorCode).join('\n');
}

function errorCode(code: ErrorCode): string {
  const { meaning, cause, action } = ERROR_GUIDE[code];
  const example = JSON.stringify({ code, message: meaning.slice(0, -1), status: STATUS_OF[code] });
  return `### \`${code}\`

**${STATUS_OF[code]}** ${meaning}

- **Cause:** ${cause}
- **What to do:** ${action}

\`\`\`json
${example}
\`\`\`
`;
}

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
