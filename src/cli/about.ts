import type { Command } from 'commander';
import { contractOf, INTERFACE_VERSION, PUBLISHED_SERVERS, publicApi } from '../http/docs/openapi.ts';
import { OPERATIONS } from '../http/operations.ts';
import { operatorOpenApiDocument } from '../operator/api/openapi.ts';
import { shippedFile } from '../shipped.ts';
import { VERSION } from '../version.ts';
import { type Invocation, UsageError } from './invocation.ts';

/** Adds `openapi`, `version` and `licenses`. */
export function addAboutCommands(program: Command, invocation: Invocation): void {
  program
    .command('openapi')
    .description('Print the contract (OpenAPI 3.1)')
    .option('--json', 'as JSON (the default)')
    .option('--yaml', 'as YAML')
    .option('--operator', 'that of the operator API')
    .action(async ({ yaml, operator }: { yaml?: true; operator?: true }) => {
      const contract = operator ? operatorOpenApiDocument() : contractOf(publicApi(OPERATIONS, PUBLISHED_SERVERS));
      // A reference stays on one line: they are half of the document.
      const document = JSON.stringify(contract, null, 2).replaceAll(/\{\s+("\$ref": "[^"]+")\s+\}/g, '{ $1 }');
      if (!yaml) return invocation.print(document);
      const { stringify } = await import('yaml');
      invocation.print(stringify(JSON.parse(document)).trimEnd());
    });

  program
    .command('version')
    .description('Print the version')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: true }) => {
      const about = { version: VERSION, interface: INTERFACE_VERSION, node: process.versions.node };
      invocation.print(json ? JSON.stringify(about) : about.version);
    });

  program
    .command('licenses')
    .description('Print the licences of everything that is in the executable or the package')
    .action(() => invocation.print(licenses().trimEnd()));
}

/** The list is made when the executable or the package is. Throws `UsageError` in a checkout, which has none. */
function licenses(): string {
  try {
    return shippedFile('licenses.txt').toString();
  } catch {
    throw new UsageError('A checkout has no list of licences; run `npm run build`, or `npm sbom`', 1);
  }
}
