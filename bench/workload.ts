import type { Call } from './load.ts';
import { type Contender, contender, peers, service, type Workshop } from './workshop.ts';

/** The rate of one contender by that of another. */
interface Share {
  readonly of: string;
  readonly against: string;
}

/** What one contender must reach of another's rate, or stay below of its 99th percentile. */
type Target =
  | (Share & {
      readonly atLeast: number;
      /** Met as well by a share that is higher by this than another, as that of Node's HTTP server itself. */
      readonly orAbove?: Share & { readonly by: number };
    })
  | (Share & { readonly p99AtMost: number });

/** Contenders that are measured in turn, in the same rounds. */
export interface Workload {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** What a rate counts. */
  readonly unit: 'requests' | 'MB';
  readonly targets: readonly Target[];
  /** Whether a quick run has it. */
  readonly quick: boolean;
  /** How long a round is, if it must be longer than others. */
  readonly seconds?: number;
  contenders(shop: Workshop): Promise<Contender[]>;
}

/** The path of the categories. */
export const LIST = '/v1/categories';
const CREATE_BODY = JSON.stringify({ name: 'Dog', description: 'Loyal, social, needs walks' });

/** Reads the list with a key. */
export const list = (key: string): Call => ({ method: 'GET', path: LIST, key });
/** Creates a category with a key. */
export const create = (key: string): Call => ({ method: 'POST', path: LIST, key, body: CREATE_BODY });

/** The service, and peers that send the same list. */
export async function besidePeers(
  shop: Workshop,
  categories: number,
  names: readonly string[],
  connections = 64,
): Promise<Contender[]> {
  const own = await service(shop, categories);
  const calls = [list(own.secret)];
  const others = await peers(shop, names, own);
  return [{ name: 'service', server: own.server }, ...others].map((each) =>
    contender(shop, { ...each, calls }, { connections }),
  );
}
