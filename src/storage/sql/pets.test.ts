import { onSqlite } from '../../../test/kit/storage/bench.ts';
import { shopContract } from '../../../test/kit/storage/shop.ts';

shopContract(onSqlite);
