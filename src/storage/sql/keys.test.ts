import { onSqlite } from '../../../test/kit/storage/bench.ts';
import { keysContract } from '../../../test/kit/storage/keys.ts';

keysContract(onSqlite);
