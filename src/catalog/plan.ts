/** The number of requests that a key may make in each window. */
export interface Limits {
  readonly minute: number;
  readonly day: number;
}

export const PLAN_NAMES = ['free', 'pro', 'business', 'enterprise'] as const;
export type PlanName = (typeof PLAN_NAMES)[number];

/** The published plans (interface, "Request rate by plan"). Enterprise limits are agreed for each key. */
export const PLANS: Readonly<Record<Exclude<PlanName, 'enterprise'>, Limits>> = {
  free: { minute: 60, day: 1_000 },
  pro: { minute: 300, day: 10_000 },
  business: { minute: 1_000, day: 100_000 },
};

/** The largest limit of a key: 10⁹ requests, far below where counting loses exactness. */
export const LIMIT_MAX = 1_000_000_000;
