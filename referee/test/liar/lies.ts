import { type Lie, liesOf } from './lie.ts';
import { OF_CATEGORIES } from './lies-categories.ts';
import { OF_HTTP } from './lies-http.ts';
import { OF_LIMITS, OF_MISSING_LIMITS } from './lies-limits.ts';

/** Every lie that a server of the tests can be given. */
export const LIES: readonly Lie[] = [OF_CATEGORIES, OF_HTTP, OF_LIMITS, OF_MISSING_LIMITS].flatMap(liesOf);
