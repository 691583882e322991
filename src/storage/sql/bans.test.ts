import { bansContract } from '../../../test/kit/storage/bans.ts';
import { onSqlite } from '../../../test/kit/storage/bench.ts';

bansContract(onSqlite);
