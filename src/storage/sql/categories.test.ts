import { onSqlite } from '../../../test/kit/storage/bench.ts';
import { categoriesContract } from '../../../test/kit/storage/categories.ts';

categoriesContract(onSqlite);
