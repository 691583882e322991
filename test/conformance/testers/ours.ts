import { mintSecret } from '../../../src/catalog/api-key.ts';
import { refereed } from '../../kit/conformance/referee.ts';
import type { Tester } from './tester.ts';

/** The referee of this project, on turned time. */
export const OURS: Tester = {
  name: 'conformance',
  packages: [],
  command: 'pet-catalog conformance URL --key KEY --limited-key FREE_KEY --level ours --full',
  async run({ service }) {
    const { rules } = await refereed(service, {
      otherEnvironmentKey: mintSecret('production'),
      planLimits: [60, 1_000],
    });
    return rules.filter(({ verdict }) => verdict === 'failed').map(({ id }) => id);
  },
};
