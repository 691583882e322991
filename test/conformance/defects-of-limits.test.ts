import { catchDefects } from '../kit/conformance/caught.ts';

catchDefects(['bans.ts', 'limit-headers.ts', 'limits.ts'], (rule) => /^(limits|bans)\./.test(rule));
