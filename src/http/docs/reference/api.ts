import type { DescribedApi } from '../described.ts';
import type { ReferenceOperation } from './contract.ts';

export interface ReferenceApi {
  readonly title: string;
  readonly described: DescribedApi;
  readonly operations: readonly ReferenceOperation[];
  /** The address in the samples, without a slash at the end. */
  readonly baseUrl: string;
  /** The path before each operation's, on the listener that serves the reference. */
  readonly basePath: string;
  readonly credential: Credential;
  /** True if scopes decide who may call an operation. Its description says it otherwise. */
  readonly hasScopes: boolean;
  /** True if the guide is served beside the reference, so that links to it lead somewhere. */
  readonly hasGuide: boolean;
}

/** The credential that requests send as the bearer token. */
interface Credential {
  /** As it is called within a sentence. */
  readonly noun: 'key' | 'token';
  readonly label: string;
  readonly prefix: string;
  /** The environment variable that the samples read it from. */
  readonly variable: 'PET_CATALOG_KEY' | 'PET_CATALOG_TOKEN';
}
