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
	('yOS3rCVYanhhLwJm38ErP_ZFUdBcpbuaCCdD7Pb1hOc', 'key_hof31568exzAcWbJ', 'petcat_live_TypM', 1795314362, NULL, 5285394895),
	('bfK6lyaUXQtoeeQTqzZOxRJcrHiXUmekv2tVKFIt4S4', 'key_hof3156h7f6pA3Rs', 'petcat_live_rXLO', 1795314362, NULL, 6689048286),
	('WK0w-3YphLXly5FVvdBb2_O3cSLtlkVpltJJ01lMZ-w', 'key_hof3156mqyUyyGP7', 'petcat_live_W4wM', 1795314362, NULL, 6792641746),
	('5KsLELa20WgzgOZo-Ac-V8Nr9ivTUftDQRonUuacMkM', 'key_hof3156r5qv2AneM', 'petcat_live_MBeU', 1795314362, NULL, 4572589560),
	('mh5dPXLgDcxgQ8ykXcmwgg9HvUIrSVMoM_jl_Afe0-g', 'key_hof3156w6tuuQqvZ', 'petcat_live_wVgN', 1795314362, NULL, 4675180218),
	('3XrOwZU4TsTbnv8Y9f2PtHPdpRC8dJ7Jj5WjCC0mQuQ', 'key_hof31571x0QoNt8k', 'petcat_live_xtHV', 1795314362, NULL, 7134675904),
	('OT51VC1oO4k9qE9ijPXFAKkeXI6Ho1_vGN1FRfpoywU', 'key_hof31577bwCBM0gs', 'petcat_live_sOMK', 1795314362, NULL, 5764606474),
	('n_x-l4M3VeGX1cHbeR_YbSuE9bYA-AR9d3cJW408zqg', 'key_hof3157bw3RuwIK1', 'petcat_live_1ZHY', 1795314362, NULL, 6654511716),
	('-2ByoJLq2cJ9sqgEPfE_bdc3M-1to-IszMR8YUsu3FM', 'key_hof3157tx1NwOE93', 'petcat_live_qmXX', 1795314362, NULL, 4947265791),
	('Ogp5Pmpj2UlMDcHEYCCgagjDKEOzTRvcWI2FMOiY_2I', 'key_hof3157zchOq2qcA', 'petcat_live_4Kqx', 1795314362, NULL, 4892816975),
	('4LTFFa7_wvUd9dTQlvIYUdsspXPy1-Ws9QaTohLfpZs', 'key_hof315847jKlwMrp', 'petcat_live_h2vf', 1795314362, NULL, 4595434413),
	('piV6Say7u563muQs4hgRCt9sO4o-sHtzwBL_8WryQH8', 'key_hof31588xhKxUBN6', 'petcat_live_3HmR', 1795314362, NULL, 6371528448),
	('HrdxZfxNzwKhpGqF_UqEFvJOVHtmJb2l4lX-ohFdl6Q', 'key_hof3158el6NxgLXS', 'petcat_live_heGD', 1795314362, NULL, 6482729194),
	('AdwgLerusChJECg9edaQf5Q1s7pl3gkF_EgbNCkMV_U', 'key_hof3157habPXYYmW', 'petcat_live_uJNj', 1795314362, 1795494363, 7300426955),
	('tB-M51O9vc7fAnj_UT08yHqRQ5zoO2fOiyVlpuDVW7A', 'key_hof3157habPXYYmW', 'petcat_live_Dwwc', 1795407963, NULL, 7104190171),
	('zt4wv2IKC8JudpllyeWewe8ztKHhvKd7S3Zko-n8iHI', 'key_hof3157ol7iDNYqq', 'petcat_live_WoUx', 1795314362, 1795407963, 5944453941),
	('t3cZCtMYdYAyHBipQe8xWwUhStGz8sSl1ZKFHzZ_Un0', 'key_hof3157ol7iDNYqq', 'petcat_live_RnpK', 1795407963, NULL, 8006152360),
	('JcPcIGYRl01LUHi7Bg0A-mXCaD60u7-b6ho6t4aDnHM', 'key_hof315i1htWZUSNd', 'petcat_test_n5Lm', 1795407963, NULL, 6927205046);
INSERT INTO public.api_keys VALUES
	('key_hof3156h7f6pA3Rs', 'pro', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795314362, NULL, NULL, 5117884972, 'cus_42', 0),
	('key_hof3156mqyUyyGP7', 'business', 'production', 'business', 1000, 100000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795314362, NULL, NULL, 4331097389, 'cus_42', 0),
	('key_hof3156r5qv2AneM', 'enterprise', 'production', 'enterprise', 500, 5000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795314362, NULL, NULL, 5034756280, NULL, 0),
	('key_hof3156w6tuuQqvZ', 'reader', 'production', 'pro', 300, 10000, 'categories:read', 1795314362, NULL, NULL, 6330394191, NULL, 0),
	('key_hof31571x0QoNt8k', 'ending', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795314362, 4102401600, NULL, 8157044565, NULL, 0),
	('key_hof31577bwCBM0gs', 'ended', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795314362, 1795317962, NULL, 8324815699, NULL, 0),
	('key_hof3157habPXYYmW', 'rotated', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795314362, NULL, NULL, 4748530711, NULL, 0),
	('key_hof3157ol7iDNYqq', 'leaked', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795314362, NULL, NULL, 5231481421, NULL, 0),
	('key_hof3157tx1NwOE93', 'counting', 'production', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795314362, NULL, NULL, 5813494774, NULL, 0),
	('key_hof3157zchOq2qcA', 'spent', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795314362, NULL, NULL, 6878647728, NULL, 0),
	('key_hof315847jKlwMrp', 'banned', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795314362, NULL, NULL, 7081916783, NULL, 0),
	('key_hof3158el6NxgLXS', 'bannedOnce', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795314362, NULL, NULL, 6773374560, NULL, 0),
	('key_hof3157bw3RuwIK1', 'revoked', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795314362, NULL, 1795407963, 7101986685, NULL, 0),
	('key_hof31568exzAcWbJ', 'free', 'production', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795314362, NULL, NULL, 7265044067, NULL, 0),
	('key_hof315i1htWZUSNd', 'staging', 'staging', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795407963, NULL, NULL, 7257720446, NULL, 0),
	('key_hof31588xhKxUBN6', 'unbanned', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795314362, NULL, NULL, 8506891118, NULL, 1);
INSERT INTO public.audit_entries VALUES
	(1, 1795314362, 'test', 'cli', 'operator.create', 'op_hof3155zkdLeprhy', 'null', '{"name":"billing","role":"admin","expiresAt":null}'),
	(2, 1795314362, 'test', 'cli', 'operator.create', 'op_hof31564dbnqRSW5', 'null', '{"name":"dashboards","role":"viewer","expiresAt":null}'),
	(3, 1795314362, 'billing', 'api', 'key.create', 'key_hof31568exzAcWbJ', 'null', '{"name":"free","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(4, 1795314362, 'billing', 'api', 'key.create', 'key_hof3156h7f6pA3Rs', 'null', '{"name":"pro","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null,"owner":"cus_42"}'),
	(5, 1795314362, 'billing', 'api', 'key.create', 'key_hof3156mqyUyyGP7', 'null', '{"name":"business","plan":"business","limits":{"minute":1000,"day":100000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null,"owner":"cus_42"}'),
	(6, 1795314362, 'billing', 'api', 'key.create', 'key_hof3156r5qv2AneM', 'null', '{"name":"enterprise","plan":"enterprise","limits":{"minute":500,"day":5000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(7, 1795314362, 'billing', 'api', 'key.create', 'key_hof3156w6tuuQqvZ', 'null', '{"name":"reader","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read"],"expiresAt":null}'),
	(8, 1795314362, 'billing', 'api', 'key.create', 'key_hof31571x0QoNt8k', 'null', '{"name":"ending","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":4102401600}'),
	(9, 1795314362, 'billing', 'api', 'key.create', 'key_hof31577bwCBM0gs', 'null', '{"name":"ended","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":1795317962}'),
	(10, 1795314362, 'billing', 'api', 'key.create', 'key_hof3157bw3RuwIK1', 'null', '{"name":"revoked","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(11, 1795314362, 'billing', 'api', 'key.create', 'key_hof3157habPXYYmW', 'null', '{"name":"rotated","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(12, 1795314362, 'billing', 'api', 'key.create', 'key_hof3157ol7iDNYqq', 'null', '{"name":"leaked","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(13, 1795314362, 'billing', 'api', 'key.create', 'key_hof3157tx1NwOE93', 'null', '{"name":"counting","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(14, 1795314362, 'billing', 'api', 'key.create', 'key_hof3157zchOq2qcA', 'null', '{"name":"spent","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(15, 1795314362, 'billing', 'api', 'key.create', 'key_hof315847jKlwMrp', 'null', '{"name":"banned","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(16, 1795314362, 'billing', 'api', 'key.create', 'key_hof31588xhKxUBN6', 'null', '{"name":"unbanned","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(17, 1795314362, 'billing', 'api', 'key.create', 'key_hof3158el6NxgLXS', 'null', '{"name":"bannedOnce","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(18, 1795407963, 'root', 'cli', 'operator.create', 'op_hof315czg6W2ZnLC', 'null', '{"name":"support","role":"keys","expiresAt":null}'),
	(19, 1795407963, 'root', 'cli', 'operator.create', 'op_hof315ddkqU21FLO', 'null', '{"name":"contractor","role":"admin","expiresAt":1795407964}'),
	(20, 1795407963, 'root', 'cli', 'operator.create', 'op_hof315dvqqPsBjxw', 'null', '{"name":"leaver","role":"admin","expiresAt":null}'),
	(21, 1795407963, 'root', 'cli', 'operator.revoke', 'op_hof315dvqqPsBjxw', '{"revokedAt":null}', '{"revokedAt":1795407963}'),
	(22, 1795407963, 'root', 'cli', 'key.rotate', 'key_hof3157habPXYYmW', '{"prefix":"petcat_live_uJNj"}', '{"prefix":"petcat_live_Dwwc","oldEndsAt":1795494363}'),
	(23, 1795407963, 'root', 'cli', 'key.rotate', 'key_hof3157ol7iDNYqq', '{"prefix":"petcat_live_WoUx"}', '{"prefix":"petcat_live_RnpK","oldEndsAt":1795407963}'),
	(24, 1795407963, 'root', 'cli', 'key.revoke', 'key_hof3157bw3RuwIK1', '{"revokedAt":null}', '{"revokedAt":1795407963}'),
	(25, 1795407963, 'root', 'cli', 'key.update', 'key_hof31568exzAcWbJ', '{"plan":"free","limits":{"minute":60,"day":1000}}', '{"plan":"pro","limits":{"minute":300,"day":10000}}'),
	(26, 1795407963, 'root', 'cli', 'key.update', 'key_hof31568exzAcWbJ', '{"plan":"pro","limits":{"minute":300,"day":10000}}', '{"plan":"free","limits":{"minute":60,"day":1000}}'),
	(27, 1795407963, 'root', 'cli', 'key.create', 'key_hof315i1htWZUSNd', 'null', '{"name":"staging","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}'),
	(28, 1795407963, 'root', 'cli', 'category.delete', '7', '{"id":7,"name":"Unicorn"}', 'null'),
	(29, 1795407963, 'root', 'cli', 'category.rename', '2', '{"name":"Cat"}', '{"name":"Cats"}'),
	(30, 1795408024, 'operator', 'console', 'console.open', 'session_hof315l12dzc97AF', 'null', '{"role":"admin","endsAt":1795451224}'),
	(31, 1795408024, 'operator', 'console', 'console.open', 'session_hof315lkt21pe0kT', 'null', '{"role":"viewer","endsAt":1795451224}'),
	(32, 1795408024, 'operator', 'console', 'console.open', 'session_hof315m1jgLFwUks', 'null', '{"role":"admin","endsAt":1795451224}'),
	(33, 1795408024, 'operator', 'console', 'console.revoke', 'session_hof315m1jgLFwUks', '{"actor":"operator","endsAt":1795451224}', 'null'),
	(34, 1795408026, 'billing', 'api', 'ban.lift', 'key_hof31588xhKxUBN6', '{"banned":true}', '{"banned":false}');
INSERT INTO public.bans VALUES
	('key_hof3158el6NxgLXS', 1795400764, 1795400824, 1, 'refused 3 more times within a minute of a 429', NULL),
	('key_hof31588xhKxUBN6', 1795408026, 1795408086, 1, 'refused 3 more times within a minute of a 429', 1795408026),
	('key_hof315847jKlwMrp', 1795408028, 1795408088, 1, 'refused 3 more times within a minute of a 429', NULL);
INSERT INTO public.categories VALUES
	(1, 'Dog', NULL, 1795314362, 'key_hof3156mqyUyyGP7', 7927798616),
	(3, 'Häschen 🐇', NULL, 1795314362, 'key_hof3156mqyUyyGP7', 5137547286),
	(4, 'Parrot', NULL, 1795314362, 'key_hof3156mqyUyyGP7', 5579527801),
	(5, 'Fish', 'quiet', 1795314362, 'key_hof3156mqyUyyGP7', 5221992173),
	(6, 'Horse', 'needs a field', 1795408024, 'key_hof3156mqyUyyGP7', 5285519445),
	(2, 'Cats', NULL, 1795314362, 'key_hof3156mqyUyyGP7', 6782152085);
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
	('YRBjO2OcPFAZkuQPJU6iXVDhlHkK9KCNQ8L1gn_zT1c', 'operator', 1795408624, 'keys');
INSERT INTO public.console_sessions VALUES
	('5ALSYqnhBkv8Xjamo8PA3Qx5Z09XRUNmrriIHQElFYQ', 'session_hof315l12dzc97AF', 'operator', 1795408024, 1795451224, 1795408024, 'admin'),
	('CzQdiBPrEXnX07m5k8nb1MkCf_IY-jq3ckYU5YmT2-8', 'session_hof315lkt21pe0kT', 'operator', 1795408024, 1795451224, 1795408024, 'viewer');
INSERT INTO public.key_changes VALUES
	(1, 'key_hof31568exzAcWbJ'),
	(2, 'key_hof3156h7f6pA3Rs'),
	(3, 'key_hof3156mqyUyyGP7'),
	(4, 'key_hof3156r5qv2AneM'),
	(5, 'key_hof3156w6tuuQqvZ'),
	(6, 'key_hof31571x0QoNt8k'),
	(7, 'key_hof31577bwCBM0gs'),
	(8, 'key_hof3157bw3RuwIK1'),
	(9, 'key_hof3157habPXYYmW'),
	(10, 'key_hof3157ol7iDNYqq'),
	(11, 'key_hof3157tx1NwOE93'),
	(12, 'key_hof3157zchOq2qcA'),
	(13, 'key_hof315847jKlwMrp'),
	(14, 'key_hof31588xhKxUBN6'),
	(15, 'key_hof3158el6NxgLXS'),
	(16, 'key_hof3158el6NxgLXS'),
	(17, 'key_hof3157habPXYYmW'),
	(18, 'key_hof3157ol7iDNYqq'),
	(19, 'key_hof3157bw3RuwIK1'),
	(20, 'key_hof31568exzAcWbJ'),
	(21, 'key_hof31568exzAcWbJ'),
	(22, 'key_hof315i1htWZUSNd'),
	(23, 'key_hof31588xhKxUBN6'),
	(24, 'key_hof31588xhKxUBN6'),
	(25, 'key_hof315847jKlwMrp');
INSERT INTO public.key_route_usage VALUES
	('hour', 1795312800, '*', 'GET /v1/categories', 7, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, '*', 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, '*', 'GET /v1/pets', 0, 1, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, '*', 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, '*', 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, '*', 'POST /v1/categories', 5, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, '*', 'POST /v1/pets', 3, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, 'key_hof31568exzAcWbJ', 'GET /v1/categories', 1, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, 'key_hof3156h7f6pA3Rs', 'GET /v1/categories', 1, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, 'key_hof3156h7f6pA3Rs', 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, 'key_hof3156h7f6pA3Rs', 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, 'key_hof3156h7f6pA3Rs', 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, 'key_hof3156mqyUyyGP7', 'POST /v1/categories', 5, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, 'key_hof3156mqyUyyGP7', 'POST /v1/pets', 3, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, 'key_hof3156r5qv2AneM', 'GET /v1/categories', 1, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, 'key_hof3156w6tuuQqvZ', 'GET /v1/pets', 0, 1, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, 'key_hof31577bwCBM0gs', 'GET /v1/categories', 1, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, 'key_hof3157bw3RuwIK1', 'GET /v1/categories', 1, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, 'key_hof3157habPXYYmW', 'GET /v1/categories', 1, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795312800, 'key_hof3157ol7iDNYqq', 'GET /v1/categories', 1, 0, 0, 0, 1795314362, 1795314362),
	('hour', 1795399200, '*', 'GET /v1/categories', 2, 0, 4, 0, 1795400762, 1795400764),
	('hour', 1795399200, 'key_hof3158el6NxgLXS', 'GET /v1/categories', 2, 0, 4, 0, 1795400762, 1795400764),
	('hour', 1795406400, '*', 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 1795408024, 1795408024),
	('hour', 1795406400, '*', 'GET /v1/categories', 12, 0, 9, 0, 1795408024, 1795408033),
	('hour', 1795406400, '*', 'GET /v1/inventory', 1, 0, 0, 0, 1795408033, 1795408033),
	('hour', 1795406400, '*', 'GET /v1/pets', 1, 0, 0, 0, 1795408033, 1795408033),
	('hour', 1795406400, '*', 'GET /v1/rate_limit', 6, 0, 0, 0, 1795408033, 1795408033),
	('hour', 1795406400, '*', 'GET /v1/store/orders', 1, 0, 0, 0, 1795408033, 1795408033),
	('hour', 1795406400, '*', 'POST /v1/categories', 2, 0, 0, 0, 1795408024, 1795408024),
	('hour', 1795406400, '*', 'POST /v1/pets', 1, 0, 0, 0, 1795408024, 1795408024),
	('hour', 1795406400, '*', 'POST /v1/store/orders', 3, 0, 0, 0, 1795408024, 1795408024),
	('hour', 1795406400, 'key_hof31568exzAcWbJ', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795408033, 1795408033),
	('hour', 1795406400, 'key_hof3156mqyUyyGP7', 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 1795408024, 1795408024),
	('hour', 1795406400, 'key_hof3156mqyUyyGP7', 'GET /v1/categories', 3, 0, 0, 0, 1795408024, 1795408033),
	('hour', 1795406400, 'key_hof3156mqyUyyGP7', 'GET /v1/inventory', 1, 0, 0, 0, 1795408033, 1795408033),
	('hour', 1795406400, 'key_hof3156mqyUyyGP7', 'GET /v1/pets', 1, 0, 0, 0, 1795408033, 1795408033),
	('hour', 1795406400, 'key_hof3156mqyUyyGP7', 'GET /v1/store/orders', 1, 0, 0, 0, 1795408033, 1795408033),
	('hour', 1795406400, 'key_hof3156mqyUyyGP7', 'POST /v1/categories', 2, 0, 0, 0, 1795408024, 1795408024),
	('hour', 1795406400, 'key_hof3156mqyUyyGP7', 'POST /v1/pets', 1, 0, 0, 0, 1795408024, 1795408024),
	('hour', 1795406400, 'key_hof3156mqyUyyGP7', 'POST /v1/store/orders', 3, 0, 0, 0, 1795408024, 1795408024),
	('hour', 1795406400, 'key_hof3157tx1NwOE93', 'GET /v1/categories', 3, 0, 0, 0, 1795408028, 1795408028),
	('hour', 1795406400, 'key_hof3157tx1NwOE93', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795408033, 1795408033),
	('hour', 1795406400, 'key_hof3157zchOq2qcA', 'GET /v1/categories', 2, 0, 1, 0, 1795408028, 1795408028),
	('hour', 1795406400, 'key_hof3157zchOq2qcA', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795408033, 1795408033),
	('hour', 1795406400, 'key_hof315847jKlwMrp', 'GET /v1/categories', 2, 0, 4, 0, 1795408026, 1795408028),
	('hour', 1795406400, 'key_hof315847jKlwMrp', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795408033, 1795408033),
	('hour', 1795406400, 'key_hof31588xhKxUBN6', 'GET /v1/categories', 2, 0, 4, 0, 1795408024, 1795408026),
	('hour', 1795406400, 'key_hof31588xhKxUBN6', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795408033, 1795408033),
	('hour', 1795406400, 'key_hof3158el6NxgLXS', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795408033, 1795408033);
INSERT INTO public.kysely_migration VALUES
	('001-categories-keys-limits', '2026-11-23T04:26:03.067Z'),
	('002-pets-orders-outcomes', '2026-11-23T04:26:03.067Z'),
	('003-usage-audit-sessions', '2026-11-23T04:26:03.067Z'),
	('004-row-checksums', '2026-11-23T04:26:03.067Z'),
	('005-session-last-seen', '2026-11-23T04:26:03.067Z'),
	('006-catalog-bytes', '2026-11-23T04:26:03.067Z'),
	('007-category-changes', '2026-11-23T04:26:03.067Z'),
	('008-attempts', '2026-11-23T04:26:03.067Z'),
	('009-filter-indexes', '2026-11-23T04:26:03.067Z'),
	('010-operators', '2026-11-23T04:26:03.067Z'),
	('011-rehearsal', '2026-11-23T04:26:03.067Z'),
	('012-route-usage', '2026-11-23T04:26:03.067Z'),
	('013-rehearsal-turns', '2026-11-23T04:26:03.067Z'),
	('014-outcomes-bans-usage@0.2.0', '2026-11-23T04:26:03.067Z');
INSERT INTO public.last_ids VALUES
	('pets', 4),
	('orders', 3),
	('audit_entries', 34);
INSERT INTO public.operator_tokens VALUES
	('op_hof3155zkdLeprhy', 'zPqIAXNWXIbfqL0NmYScl1S9mTCdi31F_1NFidjr5QQ', 'billing', 'petcat_op_lxfWOB', 'admin', 1795314362, NULL, NULL),
	('op_hof31564dbnqRSW5', 'EP3xcHEgmfFLZleV4-OpC4JkTScV7XJ8EOc-moAWeLU', 'dashboards', 'petcat_op_z6aWnN', 'viewer', 1795314362, NULL, NULL),
	('op_hof315czg6W2ZnLC', 'aJEBnuYzY7hwPNfBeBcfZGaEf5jbzeunhqP37mNLAEo', 'support', 'petcat_op_L7wyyB', 'keys', 1795407963, NULL, NULL),
	('op_hof315ddkqU21FLO', 'VlWzlrqLqliM1dN03pUNTL199tJwOe7woeBdH9Efu7c', 'contractor', 'petcat_op_55eUKa', 'admin', 1795407963, 1795407964, NULL),
	('op_hof315dvqqPsBjxw', '1eRcONG5t1l-qiArKwQGQfH9uUgDP9uHpx-80JUy5dg', 'leaver', 'petcat_op_mCqx7z', 'admin', 1795407963, NULL, 1795407963);
INSERT INTO public.orders VALUES
	(1, 1, 2, '2099-12-31T12:00:00Z', 1795408024, 'key_hof3156mqyUyyGP7', 8237685284),
	(2, 1, 1, NULL, 1795408024, 'key_hof3156mqyUyyGP7', 5819723714);
INSERT INTO public.outcomes VALUES
	('key_hof3156mqyUyyGP7', 'ObnxTnS5LYY2UN5RizdCm1y0hJPTVMOF_kwqYOWMv0Q', '7Xp8K2Tkxb9xvL2vUUqYcn7Xu7YXvBKOAe00k91LHrI', '{"id":5,"name":"Fish","description":"quiet"}', 1795314362),
	('', 'Pj4TCcXRRtAkqceHJVcRn1gstHKuxtMc43ZC_WD5POM', '', '', 1795400764),
	('', 'cV6DqRL48W0pY9GpX6rpAMNi1aKeo-APA2ijMzFBzbA', '', '', 1795400764),
	('', 'Vg71raJHcnHb8DCVVDkgHyUCl-tHJtfAz1RBCLB76x4', '', '', 1795400764),
	('', 'm5ASq7X6mPaNx_ZPzU5jchUAPAzkesqCf0Rz2fM_DO0', '', '', 1795400764),
	('', 'OQnZBgshkiCAJA5ENocspX1OqxAwjS5FRN7rVXPBS7Q', '', '', 1795400764),
	('key_hof3156mqyUyyGP7', 'rHfr2zOxCiqXXJsUKyl35MGzulVlooWi-K_Wxhv3WSM', 'MjWWtUU4UmPQ64paiHry_3YZFn8wCuwOg3kgGzVkAro', '{"id":6,"name":"Horse","description":"needs a field"}', 1795408024),
	('key_hof3156mqyUyyGP7', 'cIf0lSp2fnftCEsEBZmPidGFaoo07xAIcMGIeHN-kxE', '8_4mpO9vl_lOME_tzTLgky_A-xRd1DrU79hUqIIEiDA', '{"id":4,"name":"Polly","categoryId":4,"status":"available"}', 1795408024),
	('key_hof3156mqyUyyGP7', 'JTUCIy6OhufraM60SNNlhd6IxAHLDE4Bj8TbEtisB0c', '29EVmU7XZOdaaeZg0qFixTRznRj0Ufhyt_TE_mDf-nA', '{"id":1,"petId":1,"quantity":2,"shipDate":"2099-12-31T12:00:00Z","complete":false}', 1795408024),
	('', 'hCpJaDVGQ1mPbZ8Ma8miHqJRyzS8zAqmEV7t9Xi87Sg', '', '', 1795408033),
	('', 'FqRk9GkVSe1fBMOB1kxYWLA5UNg2pSHGtZBmm35y2cQ', '', '', 1795408033),
	('', 'bzWTszUyTsZr4Yny2POnT-l0BeCC_Mj4yKWi_EWf3FM', '', '', 1795408033);
INSERT INTO public.pets VALUES
	(2, 'Minka', 2, 'pending', 1, 1795314362, 'key_hof3156mqyUyyGP7', 5242395512),
	(3, 'Bella', 1, 'sold', 0, 1795314362, 'key_hof3156mqyUyyGP7', 4656386506),
	(4, 'Polly', 4, 'available', 1, 1795408024, 'key_hof3156mqyUyyGP7', 7435235693),
	(1, 'Rex II', 1, 'available', 7, 1795314362, 'key_hof3156mqyUyyGP7', 7245157455);
INSERT INTO public.route_usage VALUES
	('minute', 1795400760, 'GET /v1/categories', 9, 0, 4, 0, 4, 0, 5, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795400760, 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795400760, 'GET /v1/pets', 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795400760, 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795400760, 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795400760, 'POST /v1/categories', 5, 0, 0, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795400760, 'POST /v1/pets', 3, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'GET /v1/categories', 9, 0, 4, 0, 4, 0, 5, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'GET /v1/pets', 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'POST /v1/categories', 5, 0, 0, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795399200, 'POST /v1/pets', 3, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795408020, 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795408020, 'GET /v1/categories', 12, 0, 9, 0, 15, 0, 2, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795408020, 'GET /v1/inventory', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795408020, 'GET /v1/pets', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795408020, 'GET /v1/rate_limit', 6, 0, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795408020, 'GET /v1/store/orders', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795408020, 'POST /v1/categories', 2, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795408020, 'POST /v1/pets', 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795408020, 'POST /v1/store/orders', 3, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795406400, 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795406400, 'GET /v1/categories', 12, 0, 9, 0, 15, 0, 2, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795406400, 'GET /v1/inventory', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795406400, 'GET /v1/pets', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795406400, 'GET /v1/rate_limit', 6, 0, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795406400, 'GET /v1/store/orders', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795406400, 'POST /v1/categories', 2, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795406400, 'POST /v1/pets', 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795406400, 'POST /v1/store/orders', 3, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'GET /v1/categories', 21, 0, 13, 0, 19, 0, 7, 5, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'GET /v1/inventory', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'GET /v1/pets', 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'GET /v1/rate_limit', 6, 0, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'GET /v1/store/orders', 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'POST /v1/categories', 7, 0, 0, 0, 0, 0, 0, 4, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'POST /v1/pets', 4, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795392000, 'POST /v1/store/orders', 3, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage VALUES
	('minute', 1795314360, '*', 17, 2, 0, 0, 1795314362, 1795314362),
	('minute', 1795314360, 'key_hof31568exzAcWbJ', 1, 0, 0, 0, 1795314362, 1795314362),
	('minute', 1795314360, 'key_hof3156h7f6pA3Rs', 3, 1, 0, 0, 1795314362, 1795314362),
	('minute', 1795314360, 'key_hof3156mqyUyyGP7', 8, 0, 0, 0, 1795314362, 1795314362),
	('minute', 1795314360, 'key_hof3156r5qv2AneM', 1, 0, 0, 0, 1795314362, 1795314362),
	('minute', 1795314360, 'key_hof3156w6tuuQqvZ', 0, 1, 0, 0, 1795314362, 1795314362),
	('minute', 1795314360, 'key_hof31577bwCBM0gs', 1, 0, 0, 0, 1795314362, 1795314362),
	('minute', 1795314360, 'key_hof3157bw3RuwIK1', 1, 0, 0, 0, 1795314362, 1795314362),
	('minute', 1795314360, 'key_hof3157habPXYYmW', 1, 0, 0, 0, 1795314362, 1795314362),
	('minute', 1795314360, 'key_hof3157ol7iDNYqq', 1, 0, 0, 0, 1795314362, 1795314362),
	('minute', 1795400760, '*', 2, 0, 4, 0, 1795400762, 1795400764),
	('minute', 1795400760, 'key_hof3158el6NxgLXS', 2, 0, 4, 0, 1795400762, 1795400764),
	('minute', 1795408020, '*', 28, 0, 9, 0, 1795408024, 1795408033),
	('minute', 1795408020, 'key_hof31568exzAcWbJ', 1, 0, 0, 0, 1795408033, 1795408033),
	('minute', 1795408020, 'key_hof3156mqyUyyGP7', 13, 0, 0, 0, 1795408024, 1795408033),
	('minute', 1795408020, 'key_hof3157tx1NwOE93', 4, 0, 0, 0, 1795408028, 1795408033),
	('minute', 1795408020, 'key_hof3157zchOq2qcA', 3, 0, 1, 0, 1795408028, 1795408033),
	('minute', 1795408020, 'key_hof315847jKlwMrp', 3, 0, 4, 0, 1795408026, 1795408033),
	('minute', 1795408020, 'key_hof31588xhKxUBN6', 3, 0, 4, 0, 1795408024, 1795408033),
	('minute', 1795408020, 'key_hof3158el6NxgLXS', 1, 0, 0, 0, 1795408033, 1795408033);
INSERT INTO public.window_counts VALUES
	('key_hof31568exzAcWbJ', 1795314422, 1, 20779, 1),
	('key_hof3156h7f6pA3Rs', 1795314422, 4, 20779, 4),
	('key_hof3156r5qv2AneM', 1795314422, 1, 20779, 1),
	('key_hof3156w6tuuQqvZ', 1795314422, 1, 20779, 1),
	('key_hof31577bwCBM0gs', 1795314422, 1, 20779, 1),
	('key_hof3157bw3RuwIK1', 1795314422, 1, 20779, 1),
	('key_hof3157habPXYYmW', 1795314422, 1, 20779, 1),
	('key_hof3157ol7iDNYqq', 1795314422, 1, 20779, 1),
	('key_hof3158el6NxgLXS', 1795400822, 2, 20780, 2),
	('key_hof31588xhKxUBN6', 1795408084, 2, 20780, 2),
	('key_hof3156mqyUyyGP7', 1795408084, 13, 20780, 13),
	('key_hof3157tx1NwOE93', 1795408088, 3, 20780, 3),
	('key_hof3157zchOq2qcA', 1795408088, 2, 20780, 2),
	('key_hof315847jKlwMrp', 1795408086, 2, 20780, 2);
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
