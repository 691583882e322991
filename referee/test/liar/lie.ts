import type { Answer, Asked, Way } from './server.ts';

/** One way in which a server differs from others. A function makes one that remembers something. */
export type Lying = Way | (() => Way);

/** The answers that a lie changes: those that are all of this. */
export interface Where {
  readonly status?: number;
  readonly when?: (asked: Asked, answer: Answer) => boolean;
}

export const LIMIT = 'x-ratelimit-limit';
export const REMAINING = 'x-ratelimit-remaining';
export const RESET = 'x-ratelimit-reset';
export const REFUSED = { status: 429 };

/** Changes some answers. */
export function say({ status, when }: Where, change: (answer: Answer, asked: Asked) => void): Way {
  return {
    says(answer, asked) {
      if ((status ?? answer.status) === answer.status && when?.(asked, answer) !== false) change(answer, asked);
    },
  };
}

/** Changes a header of some answers; without a change, or for an empty text, it is missing. */
export function head(
  where: Where,
  name: string,
  change: (value: string, asked: Asked) => string | number | undefined = () => undefined,
): Way {
  return say(where, (answer, asked) => {
    const value = change(`${answer.headers[name] ?? ''}`, asked);
    answer.headers[name] = value === '' ? undefined : value;
  });
}

export const isLimited = ({ key }: Asked) => key?.isLimited === true;
