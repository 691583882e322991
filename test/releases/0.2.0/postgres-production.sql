CREATE TABLE public.api_key_secrets (
    hash text NOT NULL,
    key_id text NOT NULL,
    prefix text NOT NULL,
    created_at bigint NOT NULL,
    ends_at bigint,
    checksum bigint
);
CREATE TABLE public.api_keys (
    id text NOT NULL,
    name text NOT NULL,
    environment text NOT NULL,
    plan text NOT NULL,
    per_minute bigint NOT NULL,
    per_day bigint NOT NULL,
    scopes text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    checksum bigint,
    owner text,
    epoch bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.audit_entries (
    id bigint NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    via text NOT NULL,
    action text NOT NULL,
    target text NOT NULL,
    before text NOT NULL,
    after text NOT NULL
);
CREATE TABLE public.bans (
    key_id text NOT NULL,
    started_at bigint NOT NULL,
    ends_at bigint NOT NULL,
    level bigint NOT NULL,
    reason text NOT NULL,
    lifted_at bigint
);
CREATE TABLE public.categories (
    id bigint NOT NULL,
    name text NOT NULL,
    description text,
    created_at bigint NOT NULL,
    created_by text NOT NULL,
    checksum bigint
);
CREATE TABLE public.category_changes (
    version bigint NOT NULL,
    category_id bigint NOT NULL
);
CREATE TABLE public.category_counter (
    last_id bigint NOT NULL,
    count bigint NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.change_versions (
    kind text NOT NULL,
    version bigint NOT NULL
);
CREATE TABLE public.console_logins (
    hash text NOT NULL,
    actor text NOT NULL,
    ends_at bigint NOT NULL,
    role text DEFAULT 'admin'::text NOT NULL
);
CREATE TABLE public.console_sessions (
    hash text NOT NULL,
    id text NOT NULL,
    actor text NOT NULL,
    opened_at bigint NOT NULL,
    ends_at bigint NOT NULL,
    last_seen_at bigint DEFAULT 0 NOT NULL,
    role text DEFAULT 'admin'::text NOT NULL
);
CREATE TABLE public.key_changes (
    version bigint NOT NULL,
    key_id text NOT NULL
);
CREATE TABLE public.key_route_usage (
    period text NOT NULL,
    starts_at bigint NOT NULL,
    key_id text NOT NULL,
    route text NOT NULL,
    served bigint NOT NULL,
    client_errors bigint NOT NULL,
    refused bigint NOT NULL,
    server_errors bigint NOT NULL,
    first_at bigint NOT NULL,
    last_at bigint NOT NULL
);
CREATE TABLE public.kysely_migration (
    name character varying(255) NOT NULL,
    "timestamp" character varying(255) NOT NULL
);
CREATE TABLE public.last_ids (
    kind text NOT NULL,
    last_id bigint NOT NULL
);
CREATE TABLE public.operator_tokens (
    id text NOT NULL,
    hash text NOT NULL,
    name text NOT NULL,
    prefix text NOT NULL,
    role text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint
);
CREATE TABLE public.orders (
    id bigint NOT NULL,
    pet_id bigint NOT NULL,
    quantity bigint NOT NULL,
    ship_date text,
    created_at bigint NOT NULL,
    created_by text NOT NULL,
    checksum bigint
);
CREATE TABLE public.outcomes (
    key_id text NOT NULL,
    idempotency_key text NOT NULL,
    fingerprint text NOT NULL,
    resource text NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.pets (
    id bigint NOT NULL,
    name text NOT NULL,
    category_id bigint NOT NULL,
    status text NOT NULL,
    quantity bigint NOT NULL,
    created_at bigint NOT NULL,
    created_by text NOT NULL,
    checksum bigint
);
CREATE TABLE public.rehearsal (
    turned_by bigint NOT NULL,
    turned_at bigint NOT NULL,
    taken_by bigint NOT NULL
);
CREATE TABLE public.rehearsal_notes (
    key_id text NOT NULL,
    number bigint NOT NULL,
    at_ms bigint NOT NULL,
    answered_at_ms bigint NOT NULL,
    method text NOT NULL,
    route text NOT NULL,
    target_digest text NOT NULL,
    body_digest text,
    idempotency_digest text,
    step text,
    is_early bigint NOT NULL,
    status bigint,
    retry_after bigint,
    is_delivered bigint NOT NULL,
    is_done bigint NOT NULL,
    has_created bigint NOT NULL,
    turned_by bigint DEFAULT 0 NOT NULL,
    retry_after_ms bigint
);
CREATE TABLE public.rehearsed_keys (
    key_id text NOT NULL,
    script text NOT NULL,
    "position" bigint NOT NULL,
    holds_until_ms bigint
);
CREATE TABLE public.route_usage (
    period text NOT NULL,
    starts_at bigint NOT NULL,
    route text NOT NULL,
    served bigint NOT NULL,
    client_errors bigint NOT NULL,
    refused bigint NOT NULL,
    server_errors bigint NOT NULL,
    took_0 bigint NOT NULL,
    took_1 bigint NOT NULL,
    took_2 bigint NOT NULL,
    took_3 bigint NOT NULL,
    took_4 bigint NOT NULL,
    took_5 bigint NOT NULL,
    took_6 bigint NOT NULL,
    took_7 bigint NOT NULL,
    took_8 bigint NOT NULL,
    took_9 bigint NOT NULL,
    took_10 bigint NOT NULL,
    took_11 bigint NOT NULL,
    took_12 bigint NOT NULL,
    took_13 bigint NOT NULL
);
CREATE TABLE public.usage (
    period text NOT NULL,
    starts_at bigint NOT NULL,
    key_id text NOT NULL,
    served bigint NOT NULL,
    client_errors bigint NOT NULL,
    refused bigint NOT NULL,
    server_errors bigint NOT NULL,
    first_at bigint NOT NULL,
    last_at bigint NOT NULL
);
CREATE TABLE public.window_counts (
    key_id text NOT NULL,
    minute_ends bigint NOT NULL,
    minute_used bigint NOT NULL,
    day bigint NOT NULL,
    day_used bigint NOT NULL
);
INSERT INTO public.api_key_secrets VALUES
	('TJECUJX5DDz3XIbz9wIO4xq-iHGhAK6tuQ0sMJtq9EQ', 'key_hoez0n7nqlstu17P', 'petcat_live_vtth', 1795305625, NULL, 5228998778),
	('kz4bTrUOQHvyejPH3COGOr2TIIdBWXO_jQ5lpFJuGjM', 'key_hoez0n7tlvHGiH0q', 'petcat_live_BpYx', 1795305625, NULL, 6158888057),
	('_-8YVhUN_Xb4nRCWcvvH6gF6bHuyf5wdsS4ZS317Plw', 'key_hoez0n7xq4CW8pRe', 'petcat_live_ekSa', 1795305625, NULL, 4817314473),
	('zbJNruYNHC5T31iw3FEWk3gfukFwOkoJoD4MfFc8U2I', 'key_hoez0n81izG7Negn', 'petcat_live_i6vz', 1795305625, NULL, 8536947843),
	('8Ww6bp9I-ZzJnjAExeAT2Qh1YNbl3_803RC5w7DtCK0', 'key_hoez0n85jvj03VuM', 'petcat_live_cNnP', 1795305625, NULL, 8047264478),
	('I3IYOXxTHb0oyfVleQNUsWX57aVLYhNVebmZw-iSTU8', 'key_hoez0n89nzZLXlfx', 'petcat_live_fqS9', 1795305625, NULL, 6206846442),
	('qGQQyIQIooEj9pYSELeDf9Cevf7LH5MXlBE55Ygp92g', 'key_hoez0n8du7emlvQ3', 'petcat_live_I20z', 1795305625, NULL, 7110698589),
	('Br7Pu_8f4XErP3eBytVOfySAMIyQKmBTUtbe7MK6hoI', 'key_hoez0n8ihvJh9GRd', 'petcat_live_rMtO', 1795305625, NULL, 4809082664),
	('Fwu_8VNq7iwXdX-QCXaPDsq-rJqPUvO7zBmKMj84UzA', 'key_hoez0n8ugypzXhj8', 'petcat_live_VRqI', 1795305625, NULL, 7701921012),
	('ieHFre4B9R6vzlcCgV_sjRqb8bpLK0wMp9JH9yXQhEE', 'key_hoez0n8zy4865lCk', 'petcat_live_kS0b', 1795305625, NULL, 8500877188),
	('IBBuc8-GvXy9SZHtLwVIa9DpRYkT6Gmg6GHU9BrMw3M', 'key_hoez0n94r36fvkAG', 'petcat_live_6G0H', 1795305625, NULL, 6007178470),
	('zFRHPN6t6C1BrxnSI0n91FIuARfrK7fHnWvBqDYI-m0', 'key_hoez0n99cod7N3Ln', 'petcat_live_6NmS', 1795305625, NULL, 4902106279),
	('QPr6myw6h_bLJhSYqEFbSU1cKGoVTHqSZLFfgBjYIbk', 'key_hoez0n9e4xPJTmI4', 'petcat_live_5Ij5', 1795305625, NULL, 7048647326),
	('5VIdk_KM7sOVjzTwLRvAUYWY-aEw0AO83MNy4usPPeA', 'key_hoez0n8m8w5anFzZ', 'petcat_live_MCEI', 1795305625, 1795485626, 6692357042),
	('AXcC8zgb4FV726FdJcACvG9nseW0O41-nWylltyv8K8', 'key_hoez0n8m8w5anFzZ', 'petcat_live_meLo', 1795399226, NULL, 5509160715),
	('8AfbUOZ40S1n7I613YC3iODjjyO8XG2-zE-8UCxT4Zo', 'key_hoez0n8qcviYSQwT', 'petcat_live_Zv2o', 1795305625, 1795399226, 6670988489),
	('ACP1Qfdp4ptHEeFzqCGZjdDiJ2avajcuRMHQbZiNGco', 'key_hoez0n8qcviYSQwT', 'petcat_live_vOGz', 1795399226, NULL, 4594168034),
	('gSg489rLuoq171k_v3lDoqIPSP-Iat-_JyLOiRA3USc', 'key_hoez0nfnwsRi0i2i', 'petcat_test_vSZB', 1795399226, NULL, 7312340784);
INSERT INTO public.api_keys VALUES
	('key_hoez0n7tlvHGiH0q', 'pro', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795305625, NULL, NULL, 6233565268, 'cus_42', 0),
	('key_hoez0n7xq4CW8pRe', 'business', 'production', 'business', 1000, 100000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795305625, NULL, NULL, 6703628509, 'cus_42', 0),
	('key_hoez0n81izG7Negn', 'enterprise', 'production', 'enterprise', 500, 5000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795305625, NULL, NULL, 6541116503, NULL, 0),
	('key_hoez0n85jvj03VuM', 'reader', 'production', 'pro', 300, 10000, 'categories:read', 1795305625, NULL, NULL, 4741206540, NULL, 0),
	('key_hoez0n89nzZLXlfx', 'ending', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795305625, 4102401600, NULL, 7124554333, NULL, 0),
	('key_hoez0n8du7emlvQ3', 'ended', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795305625, 1795309225, NULL, 6455712345, NULL, 0),
	('key_hoez0n8m8w5anFzZ', 'rotated', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795305625, NULL, NULL, 5688355112, NULL, 0),
	('key_hoez0n8qcviYSQwT', 'leaked', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795305625, NULL, NULL, 5856709810, NULL, 0),
	('key_hoez0n8ugypzXhj8', 'counting', 'production', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795305625, NULL, NULL, 4345648848, NULL, 0),
	('key_hoez0n8zy4865lCk', 'spent', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795305625, NULL, NULL, 6450934036, NULL, 0),
	('key_hoez0n94r36fvkAG', 'banned', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795305625, NULL, NULL, 5866640980, NULL, 0),
	('key_hoez0n9e4xPJTmI4', 'bannedOnce', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795305625, NULL, NULL, 7714676928, NULL, 0),
	('key_hoez0n8ihvJh9GRd', 'revoked', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795305625, NULL, 1795399226, 5135928954, NULL, 0),
	('key_hoez0n7nqlstu17P', 'free', 'production', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795305625, NULL, NULL, 4840896632, NULL, 0),
	('key_hoez0nfnwsRi0i2i', 'staging', 'staging', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795399226, NULL, NULL, 6944643363, NULL, 0),
	('key_hoez0n99cod7N3Ln', 'unbanned', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795305625, NULL, NULL, 4705006567, NULL, 1);
INSERT INTO public.audit_entries VALUES
	(1, 1795305625, 'test', 'cli', 'operator.create', 'op_hoez0n7gbco1EZiq', 'null', '{"name":"billing","role":"admin","expiresAt":null}'),
	(2, 1795305625, 'test', 'cli', 'operator.create', 'op_hoez0n7kadCWCSC7', 'null', '{"name":"dashboards","role":"viewer","expiresAt":null}'),
	(3, 1795305625, 'billing', 'api', 'key.create', 'key_hoez0n7nqlstu17P', 'null', '{"name":"free","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(4, 1795305625, 'billing', 'api', 'key.create', 'key_hoez0n7tlvHGiH0q', 'null', '{"name":"pro","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null,"owner":"cus_42"}'),
	(5, 1795305625, 'billing', 'api', 'key.create', 'key_hoez0n7xq4CW8pRe', 'null', '{"name":"business","plan":"business","limits":{"minute":1000,"day":100000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null,"owner":"cus_42"}'),
	(6, 1795305625, 'billing', 'api', 'key.create', 'key_hoez0n81izG7Negn', 'null', '{"name":"enterprise","plan":"enterprise","limits":{"minute":500,"day":5000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(7, 1795305625, 'billing', 'api', 'key.create', 'key_hoez0n85jvj03VuM', 'null', '{"name":"reader","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read"],"expiresAt":null}'),
	(8, 1795305625, 'billing', 'api', 'key.create', 'key_hoez0n89nzZLXlfx', 'null', '{"name":"ending","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":4102401600}'),
	(9, 1795305625, 'billing', 'api', 'key.create', 'key_hoez0n8du7emlvQ3', 'null', '{"name":"ended","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":1795309225}'),
	(10, 1795305625, 'billing', 'api', 'key.create', 'key_hoez0n8ihvJh9GRd', 'null', '{"name":"revoked","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(11, 1795305625, 'billing', 'api', 'key.create', 'key_hoez0n8m8w5anFzZ', 'null', '{"name":"rotated","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(12, 1795305625, 'billing', 'api', 'key.create', 'key_hoez0n8qcviYSQwT', 'null', '{"name":"leaked","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(13, 1795305625, 'billing', 'api', 'key.create', 'key_hoez0n8ugypzXhj8', 'null', '{"name":"counting","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(14, 1795305625, 'billing', 'api', 'key.create', 'key_hoez0n8zy4865lCk', 'null', '{"name":"spent","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(15, 1795305625, 'billing', 'api', 'key.create', 'key_hoez0n94r36fvkAG', 'null', '{"name":"banned","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(16, 1795305625, 'billing', 'api', 'key.create', 'key_hoez0n99cod7N3Ln', 'null', '{"name":"unbanned","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(17, 1795305625, 'billing', 'api', 'key.create', 'key_hoez0n9e4xPJTmI4', 'null', '{"name":"bannedOnce","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(18, 1795399226, 'root', 'cli', 'operator.create', 'op_hoez0nc3wpKitRQw', 'null', '{"name":"support","role":"keys","expiresAt":null}'),
	(19, 1795399226, 'root', 'cli', 'operator.create', 'op_hoez0ncefy7gqJQT', 'null', '{"name":"contractor","role":"admin","expiresAt":1795399227}'),
	(20, 1795399226, 'root', 'cli', 'operator.create', 'op_hoez0ncmkpTq2g5y', 'null', '{"name":"leaver","role":"admin","expiresAt":null}'),
	(21, 1795399226, 'root', 'cli', 'operator.revoke', 'op_hoez0ncmkpTq2g5y', '{"revokedAt":null}', '{"revokedAt":1795399226}'),
	(22, 1795399226, 'root', 'cli', 'key.rotate', 'key_hoez0n8m8w5anFzZ', '{"prefix":"petcat_live_MCEI"}', '{"prefix":"petcat_live_meLo","oldEndsAt":1795485626}'),
	(23, 1795399226, 'root', 'cli', 'key.rotate', 'key_hoez0n8qcviYSQwT', '{"prefix":"petcat_live_Zv2o"}', '{"prefix":"petcat_live_vOGz","oldEndsAt":1795399226}'),
	(24, 1795399226, 'root', 'cli', 'key.revoke', 'key_hoez0n8ihvJh9GRd', '{"revokedAt":null}', '{"revokedAt":1795399226}'),
	(25, 1795399226, 'root', 'cli', 'key.update', 'key_hoez0n7nqlstu17P', '{"plan":"free","limits":{"minute":60,"day":1000}}', '{"plan":"pro","limits":{"minute":300,"day":10000}}'),
	(26, 1795399226, 'root', 'cli', 'key.update', 'key_hoez0n7nqlstu17P', '{"plan":"pro","limits":{"minute":300,"day":10000}}', '{"plan":"free","limits":{"minute":60,"day":1000}}'),
	(27, 1795399226, 'root', 'cli', 'key.create', 'key_hoez0nfnwsRi0i2i', 'null', '{"name":"staging","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(28, 1795399226, 'root', 'cli', 'category.delete', '7', '{"id":7,"name":"Unicorn"}', 'null'),
	(29, 1795399226, 'root', 'cli', 'category.rename', '2', '{"name":"Cat"}', '{"name":"Cats"}'),
	(30, 1795399287, 'operator', 'console', 'console.open', 'session_hoez0nhh0sgKFFqM', 'null', '{"role":"admin","endsAt":1795442487}'),
	(31, 1795399287, 'operator', 'console', 'console.open', 'session_hoez0nhr86BrRBeP', 'null', '{"role":"viewer","endsAt":1795442487}'),
	(32, 1795399287, 'operator', 'console', 'console.open', 'session_hoez0ni3zdKYkKA3', 'null', '{"role":"admin","endsAt":1795442487}'),
	(33, 1795399287, 'operator', 'console', 'console.revoke', 'session_hoez0ni3zdKYkKA3', '{"actor":"operator","endsAt":1795442487}', 'null'),
	(34, 1795399289, 'billing', 'api', 'ban.lift', 'key_hoez0n99cod7N3Ln', '{"banned":true}', '{"banned":false}');
INSERT INTO public.bans VALUES
	('key_hoez0n9e4xPJTmI4', 1795392027, 1795392087, 1, 'refused 3 more times within a minute of a 429', NULL),
	('key_hoez0n99cod7N3Ln', 1795399289, 1795399349, 1, 'refused 3 more times within a minute of a 429', 1795399289),
	('key_hoez0n94r36fvkAG', 1795399291, 1795399351, 1, 'refused 3 more times within a minute of a 429', NULL);
INSERT INTO public.categories VALUES
	(1, 'Dog', NULL, 1795305625, 'key_hoez0n7xq4CW8pRe', 6276934270),
	(3, 'Häschen 🐇', NULL, 1795305625, 'key_hoez0n7xq4CW8pRe', 6921793840),
	(4, 'Parrot', NULL, 1795305625, 'key_hoez0n7xq4CW8pRe', 8090429279),
	(5, 'Fish', 'quiet', 1795305625, 'key_hoez0n7xq4CW8pRe', 6877329355),
	(6, 'Horse', 'needs a field', 1795399287, 'key_hoez0n7xq4CW8pRe', 8574683007),
	(2, 'Cats', NULL, 1795305625, 'key_hoez0n7xq4CW8pRe', 5277850803);
INSERT INTO public.category_changes VALUES
	(1, 7),
	(2, 2);
INSERT INTO public.category_counter VALUES
	(7, 6, 201);
INSERT INTO public.change_versions VALUES
	('clock', 0),
	('categories', 2),
	('keys', 25);
INSERT INTO public.console_logins VALUES
	('VH8ZmERzZpRVvpzz7J5cbohWjBSktemTUGLh3p-zOHs', 'operator', 1795399887, 'keys');
INSERT INTO public.console_sessions VALUES
	('EL8UgfiYOgEyqwluS26VRv14bm6UKaB_MFAJlMX_LOA', 'session_hoez0nhh0sgKFFqM', 'operator', 1795399287, 1795442487, 1795399287, 'admin'),
	('2K1_8DgdnMKoKCT9EvznjDLIOfCQTu-SeUb01B0Clug', 'session_hoez0nhr86BrRBeP', 'operator', 1795399287, 1795442487, 1795399287, 'viewer');
INSERT INTO public.key_changes VALUES
	(1, 'key_hoez0n7nqlstu17P'),
	(2, 'key_hoez0n7tlvHGiH0q'),
	(3, 'key_hoez0n7xq4CW8pRe'),
	(4, 'key_hoez0n81izG7Negn'),
	(5, 'key_hoez0n85jvj03VuM'),
	(6, 'key_hoez0n89nzZLXlfx'),
	(7, 'key_hoez0n8du7emlvQ3'),
	(8, 'key_hoez0n8ihvJh9GRd'),
	(9, 'key_hoez0n8m8w5anFzZ'),
	(10, 'key_hoez0n8qcviYSQwT'),
	(11, 'key_hoez0n8ugypzXhj8'),
	(12, 'key_hoez0n8zy4865lCk'),
	(13, 'key_hoez0n94r36fvkAG'),
	(14, 'key_hoez0n99cod7N3Ln'),
	(15, 'key_hoez0n9e4xPJTmI4'),
	(16, 'key_hoez0n9e4xPJTmI4'),
	(17, 'key_hoez0n8m8w5anFzZ'),
	(18, 'key_hoez0n8qcviYSQwT'),
	(19, 'key_hoez0n8ihvJh9GRd'),
	(20, 'key_hoez0n7nqlstu17P'),
	(21, 'key_hoez0n7nqlstu17P'),
	(22, 'key_hoez0nfnwsRi0i2i'),
	(23, 'key_hoez0n99cod7N3Ln'),
	(24, 'key_hoez0n99cod7N3Ln'),
	(25, 'key_hoez0n94r36fvkAG');
INSERT INTO public.key_route_usage VALUES
	('hour', 1795305600, '*', 'GET /v1/categories', 7, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, '*', 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, '*', 'GET /v1/pets', 0, 1, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, '*', 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, '*', 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, '*', 'POST /v1/categories', 5, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, '*', 'POST /v1/pets', 3, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, 'key_hoez0n7nqlstu17P', 'GET /v1/categories', 1, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, 'key_hoez0n7tlvHGiH0q', 'GET /v1/categories', 1, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, 'key_hoez0n7tlvHGiH0q', 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, 'key_hoez0n7tlvHGiH0q', 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, 'key_hoez0n7tlvHGiH0q', 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, 'key_hoez0n7xq4CW8pRe', 'POST /v1/categories', 5, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, 'key_hoez0n7xq4CW8pRe', 'POST /v1/pets', 3, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, 'key_hoez0n81izG7Negn', 'GET /v1/categories', 1, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, 'key_hoez0n85jvj03VuM', 'GET /v1/pets', 0, 1, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, 'key_hoez0n8du7emlvQ3', 'GET /v1/categories', 1, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, 'key_hoez0n8ihvJh9GRd', 'GET /v1/categories', 1, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, 'key_hoez0n8m8w5anFzZ', 'GET /v1/categories', 1, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795305600, 'key_hoez0n8qcviYSQwT', 'GET /v1/categories', 1, 0, 0, 0, 1795305625, 1795305625),
	('hour', 1795392000, '*', 'GET /v1/categories', 2, 0, 4, 0, 1795392025, 1795392027),
	('hour', 1795392000, 'key_hoez0n9e4xPJTmI4', 'GET /v1/categories', 2, 0, 4, 0, 1795392025, 1795392027),
	('hour', 1795399200, '*', 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 1795399287, 1795399287),
	('hour', 1795399200, '*', 'GET /v1/categories', 12, 0, 9, 0, 1795399287, 1795399296),
	('hour', 1795399200, '*', 'GET /v1/inventory', 1, 0, 0, 0, 1795399296, 1795399296),
	('hour', 1795399200, '*', 'GET /v1/pets', 1, 0, 0, 0, 1795399296, 1795399296),
	('hour', 1795399200, '*', 'GET /v1/rate_limit', 6, 0, 0, 0, 1795399296, 1795399296),
	('hour', 1795399200, '*', 'GET /v1/store/orders', 1, 0, 0, 0, 1795399296, 1795399296),
	('hour', 1795399200, '*', 'POST /v1/categories', 2, 0, 0, 0, 1795399287, 1795399287),
	('hour', 1795399200, '*', 'POST /v1/pets', 1, 0, 0, 0, 1795399287, 1795399287),
	('hour', 1795399200, '*', 'POST /v1/store/orders', 3, 0, 0, 0, 1795399287, 1795399287),
	('hour', 1795399200, 'key_hoez0n7nqlstu17P', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795399296, 1795399296),
	('hour', 1795399200, 'key_hoez0n7xq4CW8pRe', 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 1795399287, 1795399287),
	('hour', 1795399200, 'key_hoez0n7xq4CW8pRe', 'GET /v1/categories', 3, 0, 0, 0, 1795399287, 1795399296),
	('hour', 1795399200, 'key_hoez0n7xq4CW8pRe', 'GET /v1/inventory', 1, 0, 0, 0, 1795399296, 1795399296),
	('hour', 1795399200, 'key_hoez0n7xq4CW8pRe', 'GET /v1/pets', 1, 0, 0, 0, 1795399296, 1795399296),
	('hour', 1795399200, 'key_hoez0n7xq4CW8pRe', 'GET /v1/store/orders', 1, 0, 0, 0, 1795399296, 1795399296),
	('hour', 1795399200, 'key_hoez0n7xq4CW8pRe', 'POST /v1/categories', 2, 0, 0, 0, 1795399287, 1795399287),
	('hour', 1795399200, 'key_hoez0n7xq4CW8pRe', 'POST /v1/pets', 1, 0, 0, 0, 1795399287, 1795399287),
	('hour', 1795399200, 'key_hoez0n7xq4CW8pRe', 'POST /v1/store/orders', 3, 0, 0, 0, 1795399287, 1795399287),
	('hour', 1795399200, 'key_hoez0n8ugypzXhj8', 'GET /v1/categories', 3, 0, 0, 0, 1795399291, 1795399291),
	('hour', 1795399200, 'key_hoez0n8ugypzXhj8', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795399296, 1795399296),
	('hour', 1795399200, 'key_hoez0n8zy4865lCk', 'GET /v1/categories', 2, 0, 1, 0, 1795399291, 1795399291),
	('hour', 1795399200, 'key_hoez0n8zy4865lCk', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795399296, 1795399296),
	('hour', 1795399200, 'key_hoez0n94r36fvkAG', 'GET /v1/categories', 2, 0, 4, 0, 1795399289, 1795399291),
	('hour', 1795399200, 'key_hoez0n94r36fvkAG', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795399296, 1795399296),
	('hour', 1795399200, 'key_hoez0n99cod7N3Ln', 'GET /v1/categories', 2, 0, 4, 0, 1795399287, 1795399289),
	('hour', 1795399200, 'key_hoez0n99cod7N3Ln', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795399296, 1795399296),
	('hour', 1795399200, 'key_hoez0n9e4xPJTmI4', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795399296, 1795399296);
INSERT INTO public.kysely_migration VALUES
	('001-categories-keys-limits', '2026-11-23T02:00:25.718Z'),
	('002-pets-orders-outcomes', '2026-11-23T02:00:25.728Z'),
	('003-usage-audit-sessions', '2026-11-23T02:00:25.737Z'),
	('004-row-checksums', '2026-11-23T02:00:25.739Z'),
	('005-session-last-seen', '2026-11-23T02:00:25.740Z'),
	('006-catalog-bytes', '2026-11-23T02:00:25.741Z'),
	('007-category-changes', '2026-11-23T02:00:25.743Z'),
	('008-attempts', '2026-11-23T02:00:25.745Z'),
	('009-filter-indexes', '2026-11-23T02:00:25.748Z'),
	('010-operators', '2026-11-23T02:00:25.755Z'),
	('011-rehearsal', '2026-11-23T02:00:25.758Z'),
	('012-route-usage', '2026-11-23T02:00:25.760Z'),
	('013-rehearsal-turns', '2026-11-23T02:00:25.761Z'),
	('014-outcomes-bans-usage@0.2.0', '2026-11-23T02:00:25.771Z');
INSERT INTO public.last_ids VALUES
	('pets', 4),
	('orders', 3),
	('audit_entries', 34);
INSERT INTO public.operator_tokens VALUES
	('op_hoez0n7gbco1EZiq', 'hTcA5U0Zt10r5q1On1cHB22lsjZ9EkOFwWTUqtBaGBQ', 'billing', 'petcat_op_5sVVVL', 'admin', 1795305625, NULL, NULL),
	('op_hoez0n7kadCWCSC7', 'raRxeqfYUZUlCiOodp-4qlpNufbpEHyCZFlf7zskrsM', 'dashboards', 'petcat_op_VeCXUh', 'viewer', 1795305625, NULL, NULL),
	('op_hoez0nc3wpKitRQw', 'uJUyd4bWhNbYESHCg-JWkH9kB08zcIqlrp5-NN34xQ0', 'support', 'petcat_op_OPv4KX', 'keys', 1795399226, NULL, NULL),
	('op_hoez0ncefy7gqJQT', 'u4Pm7YPsKyNi619I0EvzinIQaG3qz-I3MUY9jOH6Ju4', 'contractor', 'petcat_op_DhomwV', 'admin', 1795399226, 1795399227, NULL),
	('op_hoez0ncmkpTq2g5y', 'T5oGEmR0uSq3v_lYfdhfRJe4R6GcUSglqVWKMrQI8Pg', 'leaver', 'petcat_op_ZOSwPg', 'admin', 1795399226, NULL, 1795399226);
INSERT INTO public.orders VALUES
	(1, 1, 2, '2099-12-31T12:00:00Z', 1795399287, 'key_hoez0n7xq4CW8pRe', 5085396238),
	(2, 1, 1, NULL, 1795399287, 'key_hoez0n7xq4CW8pRe', 6962284776);
INSERT INTO public.outcomes VALUES
	('key_hoez0n7xq4CW8pRe', 'ObnxTnS5LYY2UN5RizdCm1y0hJPTVMOF_kwqYOWMv0Q', '7Xp8K2Tkxb9xvL2vUUqYcn7Xu7YXvBKOAe00k91LHrI', '{"id":5,"name":"Fish","description":"quiet"}', 1795305625),
	('', '7oJ1IdKSHr0vhECYLzts7pODoOJ3INhRWFVnjEC09uo', '', '', 1795392027),
	('', 'OjGLKMkatYQZlMzCDIvyg1LXlBDepdt8juiWHoRvz28', '', '', 1795392027),
	('', '71gWqgY696-lYMwba5oQvcfcACuOaX57Ruk8hA9Lg_Y', '', '', 1795392027),
	('', '2n8qH1SPtYtdQM2KfUh58Tv0mMjEF0DbC0tRjchLw6A', '', '', 1795392027),
	('', 'RydpbT5wbfCOnUqluJtUKIzfL0dx6ZHtK6tsJWxg814', '', '', 1795392027),
	('key_hoez0n7xq4CW8pRe', 'rHfr2zOxCiqXXJsUKyl35MGzulVlooWi-K_Wxhv3WSM', 'MjWWtUU4UmPQ64paiHry_3YZFn8wCuwOg3kgGzVkAro', '{"id":6,"name":"Horse","description":"needs a field"}', 1795399287),
	('key_hoez0n7xq4CW8pRe', 'cIf0lSp2fnftCEsEBZmPidGFaoo07xAIcMGIeHN-kxE', '8_4mpO9vl_lOME_tzTLgky_A-xRd1DrU79hUqIIEiDA', '{"id":4,"name":"Polly","categoryId":4,"status":"available"}', 1795399287),
	('key_hoez0n7xq4CW8pRe', 'JTUCIy6OhufraM60SNNlhd6IxAHLDE4Bj8TbEtisB0c', '29EVmU7XZOdaaeZg0qFixTRznRj0Ufhyt_TE_mDf-nA', '{"id":1,"petId":1,"quantity":2,"shipDate":"2099-12-31T12:00:00Z","complete":false}', 1795399287),
	('', 'Kdi0EossJoDG1rkHu740BIcenPh9DxNVQf9ZGo3VwBo', '', '', 1795399296),
	('', '6FLFszBpsJBBdlqcnVMdl5dKw3OTH27_eVchzoK6fQA', '', '', 1795399296),
	('', 'oZMSazGw6KegXl_FxkRIg2HeloAfSGADWZNY9-XoZJ0', '', '', 1795399296);
INSERT INTO public.pets VALUES
	(2, 'Minka', 2, 'pending', 1, 1795305625, 'key_hoez0n7xq4CW8pRe', 6825339486),
	(3, 'Bella', 1, 'sold', 0, 1795305625, 'key_hoez0n7xq4CW8pRe', 7434412268),
	(4, 'Polly', 4, 'available', 1, 1795399287, 'key_hoez0n7xq4CW8pRe', 6428907079),
	(1, 'Rex II', 1, 'available', 7, 1795305625, 'key_hoez0n7xq4CW8pRe', 4319257961);
INSERT INTO public.route_usage VALUES
	('minute', 1795392000, 'GET /v1/categories', 9, 0, 4, 0, 4, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795392000, 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795392000, 'GET /v1/pets', 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795392000, 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795392000, 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795392000, 'POST /v1/categories', 5, 0, 0, 0, 0, 0, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795392000, 'POST /v1/pets', 3, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795392000, 'GET /v1/categories', 9, 0, 4, 0, 4, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795392000, 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795392000, 'GET /v1/pets', 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795392000, 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795392000, 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795392000, 'POST /v1/categories', 5, 0, 0, 0, 0, 0, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795392000, 'POST /v1/pets', 3, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795399260, 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795399260, 'GET /v1/categories', 12, 0, 9, 0, 15, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795399260, 'GET /v1/inventory', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795399260, 'GET /v1/pets', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795399260, 'GET /v1/rate_limit', 6, 0, 0, 0, 2, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795399260, 'GET /v1/store/orders', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795399260, 'POST /v1/categories', 2, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795399260, 'POST /v1/pets', 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795399260, 'POST /v1/store/orders', 3, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'GET /v1/categories', 12, 0, 9, 0, 15, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'GET /v1/inventory', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'GET /v1/pets', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'GET /v1/rate_limit', 6, 0, 0, 0, 2, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'GET /v1/store/orders', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'POST /v1/categories', 2, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'POST /v1/pets', 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'POST /v1/store/orders', 3, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'GET /v1/categories', 21, 0, 13, 0, 19, 0, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'GET /v1/inventory', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'GET /v1/pets', 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'GET /v1/rate_limit', 6, 0, 0, 0, 2, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'GET /v1/store/orders', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'POST /v1/categories', 7, 0, 0, 0, 0, 0, 3, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'POST /v1/pets', 4, 0, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'POST /v1/store/orders', 3, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage VALUES
	('minute', 1795305600, '*', 17, 2, 0, 0, 1795305625, 1795305625),
	('minute', 1795305600, 'key_hoez0n7nqlstu17P', 1, 0, 0, 0, 1795305625, 1795305625),
	('minute', 1795305600, 'key_hoez0n7tlvHGiH0q', 3, 1, 0, 0, 1795305625, 1795305625),
	('minute', 1795305600, 'key_hoez0n7xq4CW8pRe', 8, 0, 0, 0, 1795305625, 1795305625),
	('minute', 1795305600, 'key_hoez0n81izG7Negn', 1, 0, 0, 0, 1795305625, 1795305625),
	('minute', 1795305600, 'key_hoez0n85jvj03VuM', 0, 1, 0, 0, 1795305625, 1795305625),
	('minute', 1795305600, 'key_hoez0n8du7emlvQ3', 1, 0, 0, 0, 1795305625, 1795305625),
	('minute', 1795305600, 'key_hoez0n8ihvJh9GRd', 1, 0, 0, 0, 1795305625, 1795305625),
	('minute', 1795305600, 'key_hoez0n8m8w5anFzZ', 1, 0, 0, 0, 1795305625, 1795305625),
	('minute', 1795305600, 'key_hoez0n8qcviYSQwT', 1, 0, 0, 0, 1795305625, 1795305625),
	('minute', 1795392000, '*', 2, 0, 4, 0, 1795392025, 1795392027),
	('minute', 1795392000, 'key_hoez0n9e4xPJTmI4', 2, 0, 4, 0, 1795392025, 1795392027),
	('minute', 1795399260, '*', 28, 0, 9, 0, 1795399287, 1795399296),
	('minute', 1795399260, 'key_hoez0n7nqlstu17P', 1, 0, 0, 0, 1795399296, 1795399296),
	('minute', 1795399260, 'key_hoez0n7xq4CW8pRe', 13, 0, 0, 0, 1795399287, 1795399296),
	('minute', 1795399260, 'key_hoez0n8ugypzXhj8', 4, 0, 0, 0, 1795399291, 1795399296),
	('minute', 1795399260, 'key_hoez0n8zy4865lCk', 3, 0, 1, 0, 1795399291, 1795399296),
	('minute', 1795399260, 'key_hoez0n94r36fvkAG', 3, 0, 4, 0, 1795399289, 1795399296),
	('minute', 1795399260, 'key_hoez0n99cod7N3Ln', 3, 0, 4, 0, 1795399287, 1795399296),
	('minute', 1795399260, 'key_hoez0n9e4xPJTmI4', 1, 0, 0, 0, 1795399296, 1795399296);
INSERT INTO public.window_counts VALUES
	('key_hoez0n7nqlstu17P', 1795305685, 1, 20779, 1),
	('key_hoez0n7tlvHGiH0q', 1795305685, 4, 20779, 4),
	('key_hoez0n81izG7Negn', 1795305685, 1, 20779, 1),
	('key_hoez0n85jvj03VuM', 1795305685, 1, 20779, 1),
	('key_hoez0n8du7emlvQ3', 1795305685, 1, 20779, 1),
	('key_hoez0n8ihvJh9GRd', 1795305685, 1, 20779, 1),
	('key_hoez0n8m8w5anFzZ', 1795305685, 1, 20779, 1),
	('key_hoez0n8qcviYSQwT', 1795305685, 1, 20779, 1),
	('key_hoez0n9e4xPJTmI4', 1795392085, 2, 20780, 2),
	('key_hoez0n7xq4CW8pRe', 1795399347, 13, 20780, 13),
	('key_hoez0n8ugypzXhj8', 1795399351, 3, 20780, 3),
	('key_hoez0n8zy4865lCk', 1795399351, 2, 20780, 2),
	('key_hoez0n94r36fvkAG', 1795399349, 2, 20780, 2),
	('key_hoez0n99cod7N3Ln', 1795399347, 2, 20780, 2);
ALTER TABLE ONLY public.api_key_secrets
    ADD CONSTRAINT api_key_secrets_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_entries
    ADD CONSTRAINT audit_entries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.categories
    ADD CONSTRAINT categories_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.category_changes
    ADD CONSTRAINT category_changes_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.change_versions
    ADD CONSTRAINT change_versions_pkey PRIMARY KEY (kind);
ALTER TABLE ONLY public.console_logins
    ADD CONSTRAINT console_logins_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.console_sessions
    ADD CONSTRAINT console_sessions_id_key UNIQUE (id);
ALTER TABLE ONLY public.console_sessions
    ADD CONSTRAINT console_sessions_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.outcomes
    ADD CONSTRAINT create_outcomes_by_key PRIMARY KEY (key_id, idempotency_key);
ALTER TABLE ONLY public.key_changes
    ADD CONSTRAINT key_changes_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.key_route_usage
    ADD CONSTRAINT key_route_usage_by_time PRIMARY KEY (period, starts_at, key_id, route);
ALTER TABLE ONLY public.kysely_migration
    ADD CONSTRAINT kysely_migration_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.last_ids
    ADD CONSTRAINT last_ids_pkey PRIMARY KEY (kind);
ALTER TABLE ONLY public.operator_tokens
    ADD CONSTRAINT operator_tokens_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.operator_tokens
    ADD CONSTRAINT operator_tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.pets
    ADD CONSTRAINT pets_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.rehearsal_notes
    ADD CONSTRAINT rehearsal_notes_by_key PRIMARY KEY (key_id, number);
ALTER TABLE ONLY public.rehearsed_keys
    ADD CONSTRAINT rehearsed_keys_pkey PRIMARY KEY (key_id);
ALTER TABLE ONLY public.route_usage
    ADD CONSTRAINT route_usage_by_time PRIMARY KEY (period, starts_at, route);
ALTER TABLE ONLY public.usage
    ADD CONSTRAINT usage_by_time PRIMARY KEY (period, starts_at, key_id);
ALTER TABLE ONLY public.window_counts
    ADD CONSTRAINT window_counts_pkey PRIMARY KEY (key_id);
CREATE INDEX api_key_secrets_by_key ON public.api_key_secrets USING btree (key_id);
CREATE INDEX api_keys_by_age ON public.api_keys USING btree (created_at, id);
CREATE INDEX api_keys_by_expiry ON public.api_keys USING btree (expires_at, id);
CREATE INDEX api_keys_by_name ON public.api_keys USING btree (lower(name), id);
CREATE INDEX api_keys_by_owner ON public.api_keys USING btree (owner, created_at, id);
CREATE INDEX api_keys_by_plan ON public.api_keys USING btree (plan, created_at, id);
CREATE INDEX api_keys_by_state ON public.api_keys USING btree (revoked_at, expires_at, id);
CREATE INDEX audit_entries_by_action ON public.audit_entries USING btree (action, id);
CREATE INDEX audit_entries_by_actor ON public.audit_entries USING btree (actor, id);
CREATE INDEX audit_entries_by_target ON public.audit_entries USING btree (target, id);
CREATE INDEX bans_by_end ON public.bans USING btree (ends_at);
CREATE INDEX bans_by_key ON public.bans USING btree (key_id, started_at);
CREATE INDEX create_outcomes_by_age ON public.outcomes USING btree (created_at);
CREATE INDEX key_route_usage_by_key ON public.key_route_usage USING btree (key_id, period, starts_at);
CREATE INDEX orders_by_pet ON public.orders USING btree (pet_id, ((id + 0)));
CREATE INDEX pets_by_category ON public.pets USING btree (category_id, ((id + 0)));
CREATE INDEX pets_by_category_and_status ON public.pets USING btree (category_id, status, ((id - 0)));
CREATE INDEX pets_by_status ON public.pets USING btree (status, ((id + 0)));
CREATE INDEX usage_by_key ON public.usage USING btree (key_id, period, starts_at);
ALTER TABLE ONLY public.api_key_secrets
    ADD CONSTRAINT api_key_secrets_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
ALTER TABLE ONLY public.bans
    ADD CONSTRAINT bans_key_id_fkey1 FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pet_id_fkey FOREIGN KEY (pet_id) REFERENCES public.pets(id);
ALTER TABLE ONLY public.pets
    ADD CONSTRAINT pets_category_id_fkey FOREIGN KEY (category_id) REFERENCES public.categories(id);
ALTER TABLE ONLY public.window_counts
    ADD CONSTRAINT window_counts_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
