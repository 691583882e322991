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
    owner text
);
CREATE TABLE public.attempts (
    id text NOT NULL,
    at bigint NOT NULL
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
CREATE TABLE public.create_outcomes (
    key_id text NOT NULL,
    idempotency_key text NOT NULL,
    fingerprint text NOT NULL,
    resource text NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.kysely_migration (
    name character varying(255) NOT NULL,
    "timestamp" character varying(255) NOT NULL
);
CREATE TABLE public.kysely_migration_lock (
    id character varying(255) NOT NULL,
    is_locked integer DEFAULT 0 NOT NULL
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
    has_created bigint NOT NULL
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
	('KeBu1ZIpBiIN8YHbowFYs8PEzsTtlSemnjz_vdTLqhc', 'key_lkcoHKWkXQqMn4Qr', 'petcat_live_3Qy0', 1795215911, NULL, 6072743168),
	('a4ms0wVgxO_398r4qN9PBpJdWolRRs8uh6krG1ozYac', 'key_ZAcFvY2FCrDG9rgz', 'petcat_live_qCzp', 1795215911, NULL, 7969584622),
	('y1wvvNcARUn44U5MXiafQSHbsO09W6HHtSpDs3CC6UY', 'key_7QnoZ8rmGtOvzDK8', 'petcat_live_uD6K', 1795215911, NULL, 7639431698),
	('dbFo2y3lhh5cG_YqBO4_exQxiB8AOj08VgxzZJxkZ1c', 'key_S8WaeZw8qgPBoten', 'petcat_live_gthm', 1795215911, NULL, 5197831893),
	('6ejGxk1w76pnEPtClUgCfWN5mQjGaov5aLvgxNS7zG8', 'key_F8sAQtluZeaZdojp', 'petcat_live_su2Y', 1795215911, NULL, 4365627241),
	('8i7bIND4a_dtYzb8dVhjMsrVBN4_-2aZTfwQCAgoNjU', 'key_1sfgCyokA1tZcfQL', 'petcat_live_k270', 1795215911, NULL, 5175428780),
	('yGBiPN3HvZFNSR3Pbq69RxT1Th8b1c9HZOPhMOFy9SU', 'key_rKPPwaJjbJB2bJFJ', 'petcat_live_Z44c', 1795215911, NULL, 5855519044),
	('7p07UIu7z6TagNE4ML8doXK5oOmu7xpZ3f4cQsk_ng8', 'key_d7Gued04WSZsjbI2', 'petcat_live_EPRZ', 1795215911, NULL, 4487357344),
	('60bYmZHB_rGzlMlDcaHQzo33KdIOCmPbogWdw56PNo0', 'key_ROkSAP6nGgjqYGwe', 'petcat_live_jtul', 1795215911, NULL, 6619857246),
	('x5V5tAz8Vv8Wrpwm39Znu8ZZ471PJYOl7oyFPl6_rL0', 'key_AsQiSvfczwzmfpbk', 'petcat_live_GJd1', 1795215911, NULL, 7859006674),
	('RKkNwWaMQCYcA2bVHGJX9toAX0rhZaZiWsb_e6DFCjU', 'key_1v8e3vBaPLtZNhP2', 'petcat_live_kUFn', 1795215911, NULL, 8276104602),
	('BMBY5izp6jIBotyL04JHpkh3ixytbExH-MmnM7Ht3GA', 'key_rS8WtOX9OfCuho21', 'petcat_live_xS9i', 1795215911, NULL, 6772958685),
	('Uln_rleb8KCn3TyAMSnXXCv92X34bxKWduAWUCO-v8Q', 'key_QjqWUJaYSiYBMFaa', 'petcat_live_PSTQ', 1795215911, NULL, 4911947298),
	('zLcv92tqPLKPF92lFlBKAcWx2MXf_LGlrs_omWhaGB0', 'key_pPGy7av0Wh8gimcd', 'petcat_live_vuZj', 1795215911, 1795395911, 5314482315),
	('K4tX7jZ9VGB-615U_6_9VfjFpiA4vnUFO3n6WqMJleY', 'key_pPGy7av0Wh8gimcd', 'petcat_live_zPtb', 1795309511, NULL, 8074082173),
	('zp4s4fgUuQiBifnBZLAwnG9bDunUUM1fIXbExaOGJOE', 'key_2jLcqB92UfGwdj6K', 'petcat_live_Sr9P', 1795215911, 1795309511, 7159213328),
	('js-nABzRxj5Ih5PwQuYFB-Yq1DCcwHGJgwymb5AIEfk', 'key_2jLcqB92UfGwdj6K', 'petcat_live_zyKm', 1795309511, NULL, 4358430606),
	('6i75suALkUca06vl130AQ4e1ln3vJ5YU0ee7aHl7f2E', 'key_ZJxriYGtygBP7Eop', 'petcat_test_4Vuf', 1795309511, NULL, 7747580105);
INSERT INTO public.api_keys VALUES
	('key_ZAcFvY2FCrDG9rgz', 'pro', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795215911, NULL, NULL, 4319739691, 'cus_42'),
	('key_7QnoZ8rmGtOvzDK8', 'business', 'production', 'business', 1000, 100000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795215911, NULL, NULL, 6710311576, 'cus_42'),
	('key_S8WaeZw8qgPBoten', 'enterprise', 'production', 'enterprise', 500, 5000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795215911, NULL, NULL, 6707796270, NULL),
	('key_F8sAQtluZeaZdojp', 'reader', 'production', 'pro', 300, 10000, 'categories:read', 1795215911, NULL, NULL, 4530179765, NULL),
	('key_1sfgCyokA1tZcfQL', 'ending', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795215911, 4102401600, NULL, 7661489646, NULL),
	('key_rKPPwaJjbJB2bJFJ', 'ended', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795215911, 1795219511, NULL, 6304019651, NULL),
	('key_pPGy7av0Wh8gimcd', 'rotated', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795215911, NULL, NULL, 5574628316, NULL),
	('key_2jLcqB92UfGwdj6K', 'leaked', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795215911, NULL, NULL, 4577174360, NULL),
	('key_ROkSAP6nGgjqYGwe', 'counting', 'production', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795215911, NULL, NULL, 4898877582, NULL),
	('key_AsQiSvfczwzmfpbk', 'spent', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795215911, NULL, NULL, 5524620413, NULL),
	('key_1v8e3vBaPLtZNhP2', 'banned', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795215911, NULL, NULL, 4860597105, NULL),
	('key_rS8WtOX9OfCuho21', 'unbanned', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795215911, NULL, NULL, 5097491122, NULL),
	('key_QjqWUJaYSiYBMFaa', 'bannedOnce', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795215911, NULL, NULL, 7365267083, NULL),
	('key_d7Gued04WSZsjbI2', 'revoked', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795215911, NULL, 1795309511, 7192852835, NULL),
	('key_lkcoHKWkXQqMn4Qr', 'free', 'production', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795215911, NULL, NULL, 7989739089, NULL),
	('key_ZJxriYGtygBP7Eop', 'staging', 'staging', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795309511, NULL, NULL, 7191676819, NULL);
INSERT INTO public.attempts VALUES
	('8294d3a5-b4e0-4b60-80d0-d8104ac32470', 1795302313),
	('7709330e-9ae9-4fcf-9af3-568c9c782572', 1795302313),
	('3c3767bb-fe36-4e0f-9b3f-b628624b3f50', 1795302313),
	('fc09c2a7-a36d-442a-91d3-159f6a85e548', 1795302313),
	('73823506-9f35-4df8-971d-82325263cddf', 1795309575),
	('85d3c7af-2bb3-4ff8-acf4-74f80cb40dab', 1795309577),
	('d87b2ade-2ef1-4f15-bad1-a6e8e9e9b49e', 1795309582),
	('e10e03a2-2f8c-45dd-b00e-17897d0b2f74', 1795309582);
INSERT INTO public.audit_entries VALUES
	(1, 1795215911, 'test', 'cli', 'operator.create', 'op_Ivfk824C88RvG7L0', 'null', '{"name":"billing","role":"admin","expiresAt":null}'),
	(2, 1795215911, 'test', 'cli', 'operator.create', 'op_zKeqwzLxVQhOmAMH', 'null', '{"name":"dashboards","role":"viewer","expiresAt":null}'),
	(3, 1795215911, 'billing', 'api', 'key.create', 'key_lkcoHKWkXQqMn4Qr', 'null', '{"name":"free","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(4, 1795215911, 'billing', 'api', 'key.create', 'key_ZAcFvY2FCrDG9rgz', 'null', '{"name":"pro","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null,"owner":"cus_42"}'),
	(5, 1795215911, 'billing', 'api', 'key.create', 'key_7QnoZ8rmGtOvzDK8', 'null', '{"name":"business","plan":"business","limits":{"minute":1000,"day":100000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null,"owner":"cus_42"}'),
	(6, 1795215911, 'billing', 'api', 'key.create', 'key_S8WaeZw8qgPBoten', 'null', '{"name":"enterprise","plan":"enterprise","limits":{"minute":500,"day":5000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(7, 1795215911, 'billing', 'api', 'key.create', 'key_F8sAQtluZeaZdojp', 'null', '{"name":"reader","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read"],"expiresAt":null}'),
	(8, 1795215911, 'billing', 'api', 'key.create', 'key_1sfgCyokA1tZcfQL', 'null', '{"name":"ending","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":4102401600}'),
	(9, 1795215911, 'billing', 'api', 'key.create', 'key_rKPPwaJjbJB2bJFJ', 'null', '{"name":"ended","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":1795219511}'),
	(10, 1795215911, 'billing', 'api', 'key.create', 'key_d7Gued04WSZsjbI2', 'null', '{"name":"revoked","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(11, 1795215911, 'billing', 'api', 'key.create', 'key_pPGy7av0Wh8gimcd', 'null', '{"name":"rotated","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(12, 1795215911, 'billing', 'api', 'key.create', 'key_2jLcqB92UfGwdj6K', 'null', '{"name":"leaked","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(13, 1795215911, 'billing', 'api', 'key.create', 'key_ROkSAP6nGgjqYGwe', 'null', '{"name":"counting","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(14, 1795215911, 'billing', 'api', 'key.create', 'key_AsQiSvfczwzmfpbk', 'null', '{"name":"spent","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(15, 1795215911, 'billing', 'api', 'key.create', 'key_1v8e3vBaPLtZNhP2', 'null', '{"name":"banned","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(16, 1795215911, 'billing', 'api', 'key.create', 'key_rS8WtOX9OfCuho21', 'null', '{"name":"unbanned","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(17, 1795215911, 'billing', 'api', 'key.create', 'key_QjqWUJaYSiYBMFaa', 'null', '{"name":"bannedOnce","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(18, 1795309511, 'root', 'cli', 'operator.create', 'op_Nmd0cxndXbZWbfHr', 'null', '{"name":"support","role":"keys","expiresAt":null}'),
	(19, 1795309511, 'root', 'cli', 'operator.create', 'op_ECsPpRcAWrr39tuK', 'null', '{"name":"contractor","role":"admin","expiresAt":1795309512}'),
	(20, 1795309511, 'root', 'cli', 'operator.create', 'op_2toKkxTgv6cfTzP2', 'null', '{"name":"leaver","role":"admin","expiresAt":null}'),
	(21, 1795309511, 'root', 'cli', 'operator.revoke', 'op_2toKkxTgv6cfTzP2', '{"revokedAt":null}', '{"revokedAt":1795309511}'),
	(22, 1795309511, 'root', 'cli', 'key.rotate', 'key_pPGy7av0Wh8gimcd', '{"prefix":"petcat_live_vuZj"}', '{"prefix":"petcat_live_zPtb","oldEndsAt":1795395911}'),
	(23, 1795309511, 'root', 'cli', 'key.rotate', 'key_2jLcqB92UfGwdj6K', '{"prefix":"petcat_live_Sr9P"}', '{"prefix":"petcat_live_zyKm","oldEndsAt":1795309511}'),
	(24, 1795309511, 'root', 'cli', 'key.revoke', 'key_d7Gued04WSZsjbI2', '{"revokedAt":null}', '{"revokedAt":1795309511}'),
	(25, 1795309511, 'root', 'cli', 'key.update', 'key_lkcoHKWkXQqMn4Qr', '{"plan":"free","limits":{"minute":60,"day":1000}}', '{"plan":"pro","limits":{"minute":300,"day":10000}}'),
	(26, 1795309511, 'root', 'cli', 'key.update', 'key_lkcoHKWkXQqMn4Qr', '{"plan":"pro","limits":{"minute":300,"day":10000}}', '{"plan":"free","limits":{"minute":60,"day":1000}}'),
	(27, 1795309511, 'root', 'cli', 'key.create', 'key_ZJxriYGtygBP7Eop', 'null', '{"name":"staging","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(28, 1795309511, 'root', 'cli', 'category.delete', '7', '{"id":7,"name":"Unicorn"}', 'null'),
	(29, 1795309511, 'root', 'cli', 'category.rename', '2', '{"name":"Cat"}', '{"name":"Cats"}'),
	(30, 1795309573, 'operator', 'console', 'console.open', 'session_60433c04-5195-48e7-8bba-e6fa96913ddb', 'null', '{"role":"admin","endsAt":1795352773}'),
	(31, 1795309573, 'operator', 'console', 'console.open', 'session_4165e60b-20df-4e7f-bbb0-bb44e3e9e9cc', 'null', '{"role":"viewer","endsAt":1795352773}'),
	(32, 1795309573, 'operator', 'console', 'console.open', 'session_8b542a8f-9c87-426d-9908-e373498b054f', 'null', '{"role":"admin","endsAt":1795352773}'),
	(33, 1795309573, 'operator', 'console', 'console.revoke', 'session_8b542a8f-9c87-426d-9908-e373498b054f', '{"actor":"operator","endsAt":1795352773}', 'null'),
	(34, 1795309575, 'billing', 'api', 'ban.lift', 'key_rS8WtOX9OfCuho21', '{"banned":true}', '{"banned":false}');
INSERT INTO public.bans VALUES
	('key_QjqWUJaYSiYBMFaa', 1795302313, 1795302373, 1, 'refused 3 more times within a minute of a 429', NULL),
	('key_rS8WtOX9OfCuho21', 1795309575, 1795309635, 1, 'refused 3 more times within a minute of a 429', 1795309575),
	('key_1v8e3vBaPLtZNhP2', 1795309577, 1795309637, 1, 'refused 3 more times within a minute of a 429', NULL);
INSERT INTO public.categories VALUES
	(1, 'Dog', NULL, 1795215911, 'key_7QnoZ8rmGtOvzDK8', 6407112595),
	(3, 'Häschen 🐇', NULL, 1795215911, 'key_7QnoZ8rmGtOvzDK8', 6833872093),
	(4, 'Parrot', NULL, 1795215911, 'key_7QnoZ8rmGtOvzDK8', 8220609202),
	(5, 'Fish', 'quiet', 1795215911, 'key_7QnoZ8rmGtOvzDK8', 6747396646),
	(6, 'Horse', 'needs a field', 1795309573, 'key_7QnoZ8rmGtOvzDK8', 6994456659),
	(2, 'Cats', NULL, 1795215911, 'key_7QnoZ8rmGtOvzDK8', 5122503006);
INSERT INTO public.category_changes VALUES
	(1, 7),
	(2, 2);
INSERT INTO public.category_counter VALUES
	(7, 6, 201);
INSERT INTO public.change_versions VALUES
	('clock', 0),
	('keys', 21),
	('categories', 2),
	('bans', 1);
INSERT INTO public.console_logins VALUES
	('80VgGXEQfG8-e4VdDzqF4FkrWryfqRh7sTlaPc8Tkdk', 'operator', 1795310173, 'keys');
INSERT INTO public.console_sessions VALUES
	('nyuSuQZnWMhtt0Ve8iUDFABOVrSavxNfDpzpn_XaVXk', 'session_60433c04-5195-48e7-8bba-e6fa96913ddb', 'operator', 1795309573, 1795352773, 1795309573, 'admin'),
	('FOc6ivrWoUmhqL-ytJPAQMi-yQvnW6p-uCNLsLElf50', 'session_4165e60b-20df-4e7f-bbb0-bb44e3e9e9cc', 'operator', 1795309573, 1795352773, 1795309573, 'viewer');
INSERT INTO public.create_outcomes VALUES
	('key_7QnoZ8rmGtOvzDK8', 'ObnxTnS5LYY2UN5RizdCm1y0hJPTVMOF_kwqYOWMv0Q', '7Xp8K2Tkxb9xvL2vUUqYcn7Xu7YXvBKOAe00k91LHrI', '{"id":5,"name":"Fish","description":"quiet"}', 1795215911),
	('key_7QnoZ8rmGtOvzDK8', 'rHfr2zOxCiqXXJsUKyl35MGzulVlooWi-K_Wxhv3WSM', 'MjWWtUU4UmPQ64paiHry_3YZFn8wCuwOg3kgGzVkAro', '{"id":6,"name":"Horse","description":"needs a field"}', 1795309573),
	('key_7QnoZ8rmGtOvzDK8', 'cIf0lSp2fnftCEsEBZmPidGFaoo07xAIcMGIeHN-kxE', '8_4mpO9vl_lOME_tzTLgky_A-xRd1DrU79hUqIIEiDA', '{"id":4,"name":"Polly","categoryId":4,"status":"available"}', 1795309573),
	('key_7QnoZ8rmGtOvzDK8', 'JTUCIy6OhufraM60SNNlhd6IxAHLDE4Bj8TbEtisB0c', '29EVmU7XZOdaaeZg0qFixTRznRj0Ufhyt_TE_mDf-nA', '{"id":1,"petId":1,"quantity":2,"shipDate":"2099-12-31T12:00:00Z","complete":false}', 1795309573);
INSERT INTO public.kysely_migration VALUES
	('001-categories-keys-limits', '2026-11-22T01:05:11.523Z'),
	('002-pets-orders-outcomes', '2026-11-22T01:05:11.531Z'),
	('003-usage-audit-sessions', '2026-11-22T01:05:11.540Z'),
	('004-row-checksums', '2026-11-22T01:05:11.542Z'),
	('005-session-last-seen', '2026-11-22T01:05:11.543Z'),
	('006-catalog-bytes', '2026-11-22T01:05:11.544Z'),
	('007-category-changes', '2026-11-22T01:05:11.545Z'),
	('008-attempts', '2026-11-22T01:05:11.547Z'),
	('009-filter-indexes', '2026-11-22T01:05:11.550Z'),
	('010-operators', '2026-11-22T01:05:11.558Z'),
	('011-rehearsal', '2026-11-22T01:05:11.562Z'),
	('012-route-usage', '2026-11-22T01:05:11.563Z');
INSERT INTO public.kysely_migration_lock VALUES
	('migration_lock', 0);
INSERT INTO public.last_ids VALUES
	('pets', 4),
	('orders', 3),
	('audit_entries', 34);
INSERT INTO public.operator_tokens VALUES
	('op_Ivfk824C88RvG7L0', '-Nmg5ceiw9w9OOJY3-MhMHQJ5qvLtYduLVcb9Ae9SYE', 'billing', 'petcat_op_EpNi9T', 'admin', 1795215911, NULL, NULL),
	('op_zKeqwzLxVQhOmAMH', 'egtF45x9INygPV_GJJOw8JGNzGUKXcUo6_NTZAd_s2k', 'dashboards', 'petcat_op_YIxIWY', 'viewer', 1795215911, NULL, NULL),
	('op_Nmd0cxndXbZWbfHr', 'n10gvNfh5WMd5R35k7I9dU0ciN4_xowu7xNkh_--6-k', 'support', 'petcat_op_gvO2Z2', 'keys', 1795309511, NULL, NULL),
	('op_ECsPpRcAWrr39tuK', 'c8XeazlgGa-B-JOPUYq-TO3LYVqif6PR6TAjv2taunE', 'contractor', 'petcat_op_Cq5WNa', 'admin', 1795309511, 1795309512, NULL),
	('op_2toKkxTgv6cfTzP2', 'OFCm_ijkIOJxjmwNQ9kk4-f95YVsGRqrzjiaWZzsJLc', 'leaver', 'petcat_op_RG4Msl', 'admin', 1795309511, NULL, 1795309511);
INSERT INTO public.orders VALUES
	(1, 1, 2, '2099-12-31T12:00:00Z', 1795309573, 'key_7QnoZ8rmGtOvzDK8', 6189566498),
	(2, 1, 1, NULL, 1795309573, 'key_7QnoZ8rmGtOvzDK8', 7533871044);
INSERT INTO public.pets VALUES
	(2, 'Minka', 2, 'pending', 1, 1795215911, 'key_7QnoZ8rmGtOvzDK8', 6930352051),
	(3, 'Bella', 1, 'sold', 0, 1795215911, 'key_7QnoZ8rmGtOvzDK8', 7262866689),
	(4, 'Polly', 4, 'available', 1, 1795309573, 'key_7QnoZ8rmGtOvzDK8', 4844478827),
	(1, 'Rex II', 1, 'available', 7, 1795215911, 'key_7QnoZ8rmGtOvzDK8', 4474538116);
INSERT INTO public.route_usage VALUES
	('minute', 1795302300, 'GET /v1/categories', 9, 0, 4, 0, 4, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795302300, 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795302300, 'GET /v1/pets', 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795302300, 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795302300, 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795302300, 'POST /v1/categories', 5, 0, 0, 0, 0, 0, 3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795302300, 'POST /v1/pets', 3, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795302000, 'GET /v1/categories', 9, 0, 4, 0, 4, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795302000, 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795302000, 'GET /v1/pets', 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795302000, 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795302000, 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795302000, 'POST /v1/categories', 5, 0, 0, 0, 0, 0, 3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795302000, 'POST /v1/pets', 3, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795219200, 'GET /v1/categories', 9, 0, 4, 0, 4, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795219200, 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795219200, 'GET /v1/pets', 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795219200, 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795219200, 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795219200, 'POST /v1/categories', 5, 0, 0, 0, 0, 0, 3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795219200, 'POST /v1/pets', 3, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795309560, 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795309560, 'GET /v1/categories', 12, 0, 9, 0, 15, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795309560, 'GET /v1/inventory', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795309560, 'GET /v1/pets', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795309560, 'GET /v1/rate_limit', 6, 0, 0, 0, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795309560, 'GET /v1/store/orders', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795309560, 'POST /v1/categories', 2, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795309560, 'POST /v1/pets', 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795309560, 'POST /v1/store/orders', 3, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'GET /v1/categories', 12, 0, 9, 0, 15, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'GET /v1/inventory', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'GET /v1/pets', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'GET /v1/rate_limit', 6, 0, 0, 0, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'GET /v1/store/orders', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'POST /v1/categories', 2, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'POST /v1/pets', 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795309200, 'POST /v1/store/orders', 3, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'GET /v1/categories', 12, 0, 9, 0, 15, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'GET /v1/inventory', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'GET /v1/pets', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'GET /v1/rate_limit', 6, 0, 0, 0, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'GET /v1/store/orders', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'POST /v1/categories', 2, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'POST /v1/pets', 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795305600, 'POST /v1/store/orders', 3, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage VALUES
	('minute', 1795215900, '*', 17, 2, 0, 0, 1795215911, 1795215911),
	('minute', 1795215900, 'key_2jLcqB92UfGwdj6K', 1, 0, 0, 0, 1795215911, 1795215911),
	('minute', 1795215900, 'key_7QnoZ8rmGtOvzDK8', 8, 0, 0, 0, 1795215911, 1795215911),
	('minute', 1795215900, 'key_F8sAQtluZeaZdojp', 0, 1, 0, 0, 1795215911, 1795215911),
	('minute', 1795215900, 'key_S8WaeZw8qgPBoten', 1, 0, 0, 0, 1795215911, 1795215911),
	('minute', 1795215900, 'key_ZAcFvY2FCrDG9rgz', 3, 1, 0, 0, 1795215911, 1795215911),
	('minute', 1795215900, 'key_d7Gued04WSZsjbI2', 1, 0, 0, 0, 1795215911, 1795215911),
	('minute', 1795215900, 'key_lkcoHKWkXQqMn4Qr', 1, 0, 0, 0, 1795215911, 1795215911),
	('minute', 1795215900, 'key_pPGy7av0Wh8gimcd', 1, 0, 0, 0, 1795215911, 1795215911),
	('minute', 1795215900, 'key_rKPPwaJjbJB2bJFJ', 1, 0, 0, 0, 1795215911, 1795215911),
	('hour', 1795215600, '*', 17, 2, 0, 0, 1795215911, 1795215911),
	('hour', 1795215600, 'key_2jLcqB92UfGwdj6K', 1, 0, 0, 0, 1795215911, 1795215911),
	('hour', 1795215600, 'key_7QnoZ8rmGtOvzDK8', 8, 0, 0, 0, 1795215911, 1795215911),
	('hour', 1795215600, 'key_F8sAQtluZeaZdojp', 0, 1, 0, 0, 1795215911, 1795215911),
	('hour', 1795215600, 'key_S8WaeZw8qgPBoten', 1, 0, 0, 0, 1795215911, 1795215911),
	('hour', 1795215600, 'key_ZAcFvY2FCrDG9rgz', 3, 1, 0, 0, 1795215911, 1795215911),
	('hour', 1795215600, 'key_d7Gued04WSZsjbI2', 1, 0, 0, 0, 1795215911, 1795215911),
	('hour', 1795215600, 'key_lkcoHKWkXQqMn4Qr', 1, 0, 0, 0, 1795215911, 1795215911),
	('hour', 1795215600, 'key_pPGy7av0Wh8gimcd', 1, 0, 0, 0, 1795215911, 1795215911),
	('hour', 1795215600, 'key_rKPPwaJjbJB2bJFJ', 1, 0, 0, 0, 1795215911, 1795215911),
	('day', 1795132800, '*', 17, 2, 0, 0, 1795215911, 1795215911),
	('day', 1795132800, 'key_2jLcqB92UfGwdj6K', 1, 0, 0, 0, 1795215911, 1795215911),
	('day', 1795132800, 'key_7QnoZ8rmGtOvzDK8', 8, 0, 0, 0, 1795215911, 1795215911),
	('day', 1795132800, 'key_F8sAQtluZeaZdojp', 0, 1, 0, 0, 1795215911, 1795215911),
	('day', 1795132800, 'key_S8WaeZw8qgPBoten', 1, 0, 0, 0, 1795215911, 1795215911),
	('day', 1795132800, 'key_ZAcFvY2FCrDG9rgz', 3, 1, 0, 0, 1795215911, 1795215911),
	('day', 1795132800, 'key_d7Gued04WSZsjbI2', 1, 0, 0, 0, 1795215911, 1795215911),
	('day', 1795132800, 'key_lkcoHKWkXQqMn4Qr', 1, 0, 0, 0, 1795215911, 1795215911),
	('day', 1795132800, 'key_pPGy7av0Wh8gimcd', 1, 0, 0, 0, 1795215911, 1795215911),
	('day', 1795132800, 'key_rKPPwaJjbJB2bJFJ', 1, 0, 0, 0, 1795215911, 1795215911),
	('minute', 1795302300, '*', 2, 0, 4, 0, 1795302311, 1795302313),
	('minute', 1795302300, 'key_QjqWUJaYSiYBMFaa', 2, 0, 4, 0, 1795302311, 1795302313),
	('hour', 1795302000, '*', 2, 0, 4, 0, 1795302311, 1795302313),
	('hour', 1795302000, 'key_QjqWUJaYSiYBMFaa', 2, 0, 4, 0, 1795302311, 1795302313),
	('day', 1795219200, '*', 2, 0, 4, 0, 1795302311, 1795302313),
	('day', 1795219200, 'key_QjqWUJaYSiYBMFaa', 2, 0, 4, 0, 1795302311, 1795302313),
	('minute', 1795309560, '*', 28, 0, 9, 0, 1795309573, 1795309582),
	('minute', 1795309560, 'key_1v8e3vBaPLtZNhP2', 3, 0, 4, 0, 1795309575, 1795309582),
	('minute', 1795309560, 'key_7QnoZ8rmGtOvzDK8', 13, 0, 0, 0, 1795309573, 1795309582),
	('minute', 1795309560, 'key_AsQiSvfczwzmfpbk', 3, 0, 1, 0, 1795309577, 1795309582),
	('minute', 1795309560, 'key_QjqWUJaYSiYBMFaa', 1, 0, 0, 0, 1795309582, 1795309582),
	('minute', 1795309560, 'key_ROkSAP6nGgjqYGwe', 4, 0, 0, 0, 1795309577, 1795309582),
	('minute', 1795309560, 'key_lkcoHKWkXQqMn4Qr', 1, 0, 0, 0, 1795309582, 1795309582),
	('minute', 1795309560, 'key_rS8WtOX9OfCuho21', 3, 0, 4, 0, 1795309573, 1795309582),
	('hour', 1795309200, '*', 28, 0, 9, 0, 1795309573, 1795309582),
	('hour', 1795309200, 'key_1v8e3vBaPLtZNhP2', 3, 0, 4, 0, 1795309575, 1795309582),
	('hour', 1795309200, 'key_7QnoZ8rmGtOvzDK8', 13, 0, 0, 0, 1795309573, 1795309582),
	('hour', 1795309200, 'key_AsQiSvfczwzmfpbk', 3, 0, 1, 0, 1795309577, 1795309582),
	('hour', 1795309200, 'key_QjqWUJaYSiYBMFaa', 1, 0, 0, 0, 1795309582, 1795309582),
	('hour', 1795309200, 'key_ROkSAP6nGgjqYGwe', 4, 0, 0, 0, 1795309577, 1795309582),
	('hour', 1795309200, 'key_lkcoHKWkXQqMn4Qr', 1, 0, 0, 0, 1795309582, 1795309582),
	('hour', 1795309200, 'key_rS8WtOX9OfCuho21', 3, 0, 4, 0, 1795309573, 1795309582),
	('day', 1795305600, '*', 28, 0, 9, 0, 1795309573, 1795309582),
	('day', 1795305600, 'key_1v8e3vBaPLtZNhP2', 3, 0, 4, 0, 1795309575, 1795309582),
	('day', 1795305600, 'key_7QnoZ8rmGtOvzDK8', 13, 0, 0, 0, 1795309573, 1795309582),
	('day', 1795305600, 'key_AsQiSvfczwzmfpbk', 3, 0, 1, 0, 1795309577, 1795309582),
	('day', 1795305600, 'key_QjqWUJaYSiYBMFaa', 1, 0, 0, 0, 1795309582, 1795309582),
	('day', 1795305600, 'key_ROkSAP6nGgjqYGwe', 4, 0, 0, 0, 1795309577, 1795309582),
	('day', 1795305600, 'key_lkcoHKWkXQqMn4Qr', 1, 0, 0, 0, 1795309582, 1795309582),
	('day', 1795305600, 'key_rS8WtOX9OfCuho21', 3, 0, 4, 0, 1795309573, 1795309582);
INSERT INTO public.window_counts VALUES
	('key_2jLcqB92UfGwdj6K', 1795215971, 1, 20777, 1),
	('key_F8sAQtluZeaZdojp', 1795215971, 1, 20777, 1),
	('key_QjqWUJaYSiYBMFaa', 1795302371, 2, 20778, 2),
	('key_S8WaeZw8qgPBoten', 1795215971, 1, 20777, 1),
	('key_ZAcFvY2FCrDG9rgz', 1795215971, 4, 20777, 4),
	('key_d7Gued04WSZsjbI2', 1795215971, 1, 20777, 1),
	('key_lkcoHKWkXQqMn4Qr', 1795215971, 1, 20777, 1),
	('key_pPGy7av0Wh8gimcd', 1795215971, 1, 20777, 1),
	('key_rKPPwaJjbJB2bJFJ', 1795215971, 1, 20777, 1),
	('key_rS8WtOX9OfCuho21', 1795309633, 2, 20779, 2),
	('key_1v8e3vBaPLtZNhP2', 1795309635, 2, 20779, 2),
	('key_7QnoZ8rmGtOvzDK8', 1795309633, 13, 20779, 13),
	('key_AsQiSvfczwzmfpbk', 1795309637, 2, 20779, 2),
	('key_ROkSAP6nGgjqYGwe', 1795309637, 3, 20779, 3);
ALTER TABLE ONLY public.api_key_secrets
    ADD CONSTRAINT api_key_secrets_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (id);
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
ALTER TABLE ONLY public.create_outcomes
    ADD CONSTRAINT create_outcomes_by_key PRIMARY KEY (key_id, idempotency_key);
ALTER TABLE ONLY public.kysely_migration_lock
    ADD CONSTRAINT kysely_migration_lock_pkey PRIMARY KEY (id);
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
CREATE INDEX attempts_by_age ON public.attempts USING btree (at);
CREATE INDEX audit_entries_by_action ON public.audit_entries USING btree (action, id);
CREATE INDEX audit_entries_by_actor ON public.audit_entries USING btree (actor, id);
CREATE INDEX audit_entries_by_target ON public.audit_entries USING btree (target, id);
CREATE INDEX bans_by_end ON public.bans USING btree (ends_at);
CREATE INDEX bans_by_key ON public.bans USING btree (key_id, started_at);
CREATE INDEX create_outcomes_by_age ON public.create_outcomes USING btree (created_at);
CREATE INDEX orders_by_pet ON public.orders USING btree (pet_id, ((id + 0)));
CREATE INDEX pets_by_category ON public.pets USING btree (category_id, ((id + 0)));
CREATE INDEX pets_by_category_and_status ON public.pets USING btree (category_id, status, ((id - 0)));
CREATE INDEX pets_by_status ON public.pets USING btree (status, ((id + 0)));
CREATE INDEX usage_by_key ON public.usage USING btree (key_id, period, starts_at);
ALTER TABLE ONLY public.api_key_secrets
    ADD CONSTRAINT api_key_secrets_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
ALTER TABLE ONLY public.bans
    ADD CONSTRAINT bans_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pet_id_fkey FOREIGN KEY (pet_id) REFERENCES public.pets(id);
ALTER TABLE ONLY public.pets
    ADD CONSTRAINT pets_category_id_fkey FOREIGN KEY (category_id) REFERENCES public.categories(id);
ALTER TABLE ONLY public.window_counts
    ADD CONSTRAINT window_counts_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
