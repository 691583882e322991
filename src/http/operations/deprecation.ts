import { CatalogError } from '../../catalog/error.ts';
import type { Exchange } from '../transport/exchange.ts';
import type { Described, Operation } from './operation.ts';
import { readId } from './query.ts';

/** Deprecation (RFC 9745) and sunset (RFC 8594) headers, sent with every answer of a deprecated operation. */
export function deprecationHeaders({ id, deprecation }: Described, { params }: Exchange): string[] {
  if (!deprecation) return [];
  const { since, sunset, successor } = deprecation;
  const links = [
    `</v1${fillIn(successor, params)}>; rel="successor-version"`,
    `</docs/deprecations#${id}>; rel="deprecation"; type="text/html"`,
  ];
  const end = new Date(sunset * 1000).toUTCString();
  return ['Deprecation', `@${since}`, 'Sunset', end, 'Link', links.join(', ')];
}

/** The operation as it is served: from its sunset on it answers 410. */
export function endedAtSunset(operation: Operation): Operation {
  const { id, method, deprecation } = operation;
  if (!deprecation) return operation;
  return {
    ...operation,
    handle(catalog, exchange) {
      if (exchange.decision.now < deprecation.sunset) return operation.handle(catalog, exchange);
      const instead = fillIn(deprecation.successor, exchange.params);
      throw new CatalogError('gone', `${id} has been removed; use ${method} /v1${instead}`);
    },
  };
}

/** A path with its id filled in; without its query if the request names no possible id. */
function fillIn(path: string, params: Exchange['params']): string {
  const filled = path.replace(/\{(\w+)\}/, (_, name: string) => `${readId(params[name]) ?? ''}`);
  return filled.replace(/\?[^?]*=$/, '');
}
