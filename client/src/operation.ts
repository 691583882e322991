import type { Operation } from './contract.ts';

/** The methods of HTTP that the service has. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** An operation of the contract or, for `request`, its method and path, with `{id}` in place of numbers. */
export type OperationName = Operation | `${Method} /${string}`;
