import type { ReferenceApi } from '../../http/docs/reference/api.ts';
import { operationsOf } from '../../http/docs/reference/contract.ts';
import { operationLinks, referenceContent } from '../../http/docs/reference/reference.ts';
import { layout } from '../../http/docs/site.ts';
import { operatorApi } from './openapi.ts';
import { API_BASE, type ApiOperation } from './operation.ts';

const TITLE = 'Operator API';
const PATH = '/docs';
const LISTENER = {
  title: 'Operator listener',
  links: [
    { path: '/console', title: 'Console' },
    { path: PATH, title: 'API reference' },
  ],
};

/** The reference of the operator API, as the page of an operator listener at `origin`. */
export function operatorReference(origin: string, added: readonly ApiOperation[]): string {
  const described = operatorApi(added);
  const api: ReferenceApi = {
    title: TITLE,
    described,
    operations: operationsOf(described),
    baseUrl: `${origin}${API_BASE}`,
    basePath: API_BASE,
    credential: { noun: 'token', label: 'Operator token', prefix: 'petcat_op_', variable: 'PET_CATALOG_TOKEN' },
    hasScopes: false,
    hasGuide: false,
  };
  return layout({
    path: PATH,
    title: TITLE,
    content: referenceContent(api),
    navigation: [LISTENER, ...operationLinks(api, PATH)],
    isReference: true,
    isAlone: true,
  });
}
