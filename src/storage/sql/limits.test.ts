import { onSqlite } from '../../../test/kit/storage/bench.ts';
import { limitsContract } from '../../../test/kit/storage/limits.ts';

limitsContract(onSqlite);
