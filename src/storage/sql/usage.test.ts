import { onSqlite } from '../../../test/kit/storage/bench.ts';
import { usageContract } from '../../../test/kit/storage/usage.ts';

usageContract(onSqlite);
