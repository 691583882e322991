import type { ContractServer } from './docs/described.ts';
import { docsPages } from './docs/docs.ts';
import { openApiDocument } from './docs/openapi.ts';
import type { DocsOptions } from './docs/render.ts';
import { type WellKnownOptions, wellKnownPages } from './docs/well-known.ts';
import type { Health } from './health.ts';
import { createCategory, getCategory, listCategories } from './operations/categories.ts';
import { getInventory, listInventory, updateInventory } from './operations/inventory.ts';
import type { Operation } from './operations/operation.ts';
import { cancelOrder, getOrder, listOrders, placeOrder } from './operations/orders.ts';
import { createPet, getPet, listPets, updatePet } from './operations/pets.ts';
import { getRateLimit } from './operations/rate-limit.ts';
import type { PageHandler } from './pages.ts';

/** Every operation of the interface. The router and the contract are both generated from this list. */
export const OPERATIONS: readonly Operation[] = [
  listCategories,
  createCategory,
  getCategory,
  listPets,
  createPet,
  getPet,
  updatePet,
  listOrders,
  placeOrder,
  getOrder,
  cancelOrder,
  listInventory,
  getInventory,
  updateInventory,
  getRateLimit,
];

/** The probes: `/livez` and `/readyz`. */
export function healthPages(health: Health): [string, PageHandler][] {
  return [
    ['/livez', () => health.live()],
    ['/readyz', () => health.ready()],
  ];
}

/** The contract as JSON and YAML, with the addresses of both environments. */
function contractPages(servers: readonly ContractServer[]): [string, PageHandler][] {
  // Rendered, and the YAML library loaded, on the first request.
  let made: string | undefined;
  let yaml: string | undefined;
  const json = () => {
    made ??= JSON.stringify(openApiDocument(OPERATIONS, servers));
    return made;
  };
  const cacheControl = 'public, max-age=300';
  return [
    ['/openapi.json', () => ({ status: 200, cacheControl, body: json() })],
    [
      '/openapi.yaml',
      async () => {
        yaml ??= (await import('yaml')).stringify(JSON.parse(json()));
        return { status: 200, cacheControl, contentType: 'application/yaml', body: yaml };
      },
    ],
  ];
}

export type DiscoveryOptions = WellKnownOptions & Omit<DocsOptions, 'operations'>;

/** The pages that describe the service: contract, documentation, well-known addresses. */
export function discoveryPages(options: DiscoveryOptions): [string, PageHandler][] {
  return [
    ...contractPages(options.servers),
    ...docsPages({ ...options, operations: OPERATIONS }),
    ...wellKnownPages(options),
  ];
}
