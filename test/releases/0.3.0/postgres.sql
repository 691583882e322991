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
    epoch bigint DEFAULT 0 NOT NULL,
    paused_at bigint,
    search text
);
CREATE TABLE public.audit_entries (
    id bigint NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    via text NOT NULL,
    action text NOT NULL,
    target text NOT NULL,
    before text NOT NULL,
    after text NOT NULL,
    system_user text
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
	('qgrDsjR6TWMasmqChVHJOzaHgvK74TPgUiClQkMPjwk', 'key_hokbiupb90p7p83c', 'petcat_live_9wib', 1795724668, NULL, NULL),
	('PUl3_KY3JD37AJ-Ws47Mkgn1gRJn81khjbhkQRRfFMA', 'key_hokbiuq61w4ymk6w', 'petcat_live_FPwp', 1795724668, NULL, NULL),
	('xGN_SfNLRgh6nASYm4EcGOjDJLBZJU7qoHuAerD33Ws', 'key_hokbiuquwjYeKZ44', 'petcat_live_bAZR', 1795724668, NULL, NULL),
	('ZO-p4jmQDNyMT8kAVTM6X603PjOF0VAkcCo89oS20kY', 'key_hokbiurvupP5U82Y', 'petcat_live_dmV1', 1795724668, NULL, NULL),
	('zs8Ve9glwELt1_EJ-XcCxvw68d3IcBHfNseBFLGhgAI', 'key_hokbiuse7bY0JpbW', 'petcat_live_eZos', 1795724668, NULL, NULL),
	('kQM0ng7TVLnIopOZm8BgNSZwWBr6tm1lfNAXvbgeAIc', 'key_hokbiut1a6JBaHt3', 'petcat_live_VfxC', 1795724668, NULL, NULL),
	('HbDIx-K4k1IwZ4WDVJ_NFoOoL9wdcAYidrHxMka8B3c', 'key_hokbiutrj9zPl25m', 'petcat_live_0o5P', 1795724668, NULL, NULL),
	('HfIMPeuKqLGnUV64ivuLUw5tDWVmZcT3RZvR1K74VvM', 'key_hokbiuupcvLg6pM5', 'petcat_live_ry8V', 1795724668, NULL, NULL),
	('yHzOfTvuVmWX1cXO4ywBkIxv6lTdEIiX_sQejYUuXT4', 'key_hokbiuwomeYiTPq4', 'petcat_live_Mk0q', 1795724668, NULL, NULL),
	('SmQrNCqQNCqkIP0KWpqQ_kYexF1UrZ1_EHzLDN8yfD8', 'key_hokbiuxblbhXXLr5', 'petcat_live_r4ya', 1795724668, NULL, NULL),
	('jKRLIj7zMFhuJcfzf5x2JLGtVp4xTCc3Z8TSAAfvPQk', 'key_hokbiuxvbaBTHZLS', 'petcat_live_fdLQ', 1795724668, NULL, NULL),
	('MKVnJNb78CHpSX_IsqwhDTOR3Mt4r9BMgypBzCt5OMc', 'key_hokbiuy95ztES9ip', 'petcat_live_WTdk', 1795724668, NULL, NULL),
	('WCIcu9iIMwpsae2dgJGTFr2BzLr94WJfV521Iccoixw', 'key_hokbiuywrpDMejhO', 'petcat_live_yZuc', 1795724668, NULL, NULL),
	('zMI6A46051U3P1jPBGAKfaZ-xuugJbSLPvd1wVPIrYw', 'key_hokbiuvp3fjPho0w', 'petcat_live_YLVK', 1795724668, 1795904670, NULL),
	('G2I8lLNkpSXA3isXEBIfcJm5d5dUk4UwQnTcJDBgJWM', 'key_hokbiuvp3fjPho0w', 'petcat_live_s9iM', 1795818270, NULL, NULL),
	('tPg7QE1RHSVKSPacMW3l53w64ys9jVU532fOilrWWCE', 'key_hokbiuw53cQ3l3h7', 'petcat_live_3XgK', 1795724668, 1795818270, NULL),
	('B0xR86XvbEsMBDwOQZvNZMKYwD9_1mJ22SZi2ua8rV0', 'key_hokbiuw53cQ3l3h7', 'petcat_live_r1WX', 1795818270, NULL, NULL),
	('2F1GsVV8Ujc-PbPrFqWWwNmRS0uIb23mGpHZTJjMIdY', 'key_hokbivpbcbCK6TWm', 'petcat_test_17V6', 1795818270, NULL, NULL);
INSERT INTO public.api_keys VALUES
	('key_hokbiuq61w4ymk6w', 'pro', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795724668, NULL, NULL, NULL, 'cus_42', 0, NULL, 'pro
cus_42
key_hokbiuq61w4ymk6w'),
	('key_hokbiuquwjYeKZ44', 'business', 'production', 'business', 1000, 100000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795724668, NULL, NULL, NULL, 'cus_42', 0, NULL, 'business
cus_42
key_hokbiuquwjyekz44'),
	('key_hokbiurvupP5U82Y', 'enterprise', 'production', 'enterprise', 500, 5000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795724668, NULL, NULL, NULL, NULL, 0, NULL, 'enterprise
key_hokbiurvupp5u82y'),
	('key_hokbiuse7bY0JpbW', 'reader', 'production', 'pro', 300, 10000, 'categories:read', 1795724668, NULL, NULL, NULL, NULL, 0, NULL, 'reader
key_hokbiuse7by0jpbw'),
	('key_hokbiut1a6JBaHt3', 'ending', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795724668, 4102401600, NULL, NULL, NULL, 0, NULL, 'ending
key_hokbiut1a6jbaht3'),
	('key_hokbiutrj9zPl25m', 'ended', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795724668, 1795728268, NULL, NULL, NULL, 0, NULL, 'ended
key_hokbiutrj9zpl25m'),
	('key_hokbiuvp3fjPho0w', 'rotated', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795724668, NULL, NULL, NULL, NULL, 0, NULL, 'rotated
key_hokbiuvp3fjpho0w'),
	('key_hokbiuw53cQ3l3h7', 'leaked', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795724668, NULL, NULL, NULL, NULL, 0, NULL, 'leaked
key_hokbiuw53cq3l3h7'),
	('key_hokbiuwomeYiTPq4', 'counting', 'production', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795724668, NULL, NULL, NULL, NULL, 0, NULL, 'counting
key_hokbiuwomeyitpq4'),
	('key_hokbiuxblbhXXLr5', 'spent', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795724668, NULL, NULL, NULL, NULL, 0, NULL, 'spent
key_hokbiuxblbhxxlr5'),
	('key_hokbiuxvbaBTHZLS', 'banned', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795724668, NULL, NULL, NULL, NULL, 0, NULL, 'banned
key_hokbiuxvbabthzls'),
	('key_hokbiuywrpDMejhO', 'bannedOnce', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795724668, NULL, NULL, NULL, NULL, 0, NULL, 'bannedonce
key_hokbiuywrpdmejho'),
	('key_hokbiuupcvLg6pM5', 'revoked', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795724668, NULL, 1795818270, NULL, NULL, 0, NULL, 'revoked
key_hokbiuupcvlg6pm5'),
	('key_hokbiupb90p7p83c', 'free', 'production', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795724668, NULL, NULL, NULL, NULL, 0, NULL, 'free
key_hokbiupb90p7p83c'),
	('key_hokbivpbcbCK6TWm', 'staging', 'staging', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795818270, NULL, NULL, NULL, NULL, 0, NULL, 'staging
key_hokbivpbcbck6twm'),
	('key_hokbiuy95ztES9ip', 'unbanned', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795724668, NULL, NULL, NULL, NULL, 1, NULL, 'unbanned
key_hokbiuy95ztes9ip');
INSERT INTO public.audit_entries VALUES
	(1, 1795724668, 'test', 'cli', 'operator.create', 'op_hokbiuob2qs8wEI2', 'null', '{"name":"billing","role":"admin","expiresAt":null}', NULL),
	(2, 1795724668, 'test', 'cli', 'operator.create', 'op_hokbiuosd9RmiURS', 'null', '{"name":"dashboards","role":"viewer","expiresAt":null}', NULL),
	(3, 1795724668, 'billing', 'api', 'key.create', 'key_hokbiupb90p7p83c', 'null', '{"name":"free","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(4, 1795724668, 'billing', 'api', 'key.create', 'key_hokbiuq61w4ymk6w', 'null', '{"name":"pro","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null,"owner":"cus_42"}', NULL),
	(5, 1795724668, 'billing', 'api', 'key.create', 'key_hokbiuquwjYeKZ44', 'null', '{"name":"business","plan":"business","limits":{"minute":1000,"day":100000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null,"owner":"cus_42"}', NULL),
	(6, 1795724668, 'billing', 'api', 'key.create', 'key_hokbiurvupP5U82Y', 'null', '{"name":"enterprise","plan":"enterprise","limits":{"minute":500,"day":5000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(7, 1795724668, 'billing', 'api', 'key.create', 'key_hokbiuse7bY0JpbW', 'null', '{"name":"reader","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read"],"expiresAt":null}', NULL),
	(8, 1795724668, 'billing', 'api', 'key.create', 'key_hokbiut1a6JBaHt3', 'null', '{"name":"ending","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":4102401600}', NULL),
	(9, 1795724668, 'billing', 'api', 'key.create', 'key_hokbiutrj9zPl25m', 'null', '{"name":"ended","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":1795728268}', NULL),
	(10, 1795724668, 'billing', 'api', 'key.create', 'key_hokbiuupcvLg6pM5', 'null', '{"name":"revoked","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(11, 1795724668, 'billing', 'api', 'key.create', 'key_hokbiuvp3fjPho0w', 'null', '{"name":"rotated","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(12, 1795724668, 'billing', 'api', 'key.create', 'key_hokbiuw53cQ3l3h7', 'null', '{"name":"leaked","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(13, 1795724668, 'billing', 'api', 'key.create', 'key_hokbiuwomeYiTPq4', 'null', '{"name":"counting","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(14, 1795724668, 'billing', 'api', 'key.create', 'key_hokbiuxblbhXXLr5', 'null', '{"name":"spent","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(15, 1795724668, 'billing', 'api', 'key.create', 'key_hokbiuxvbaBTHZLS', 'null', '{"name":"banned","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(16, 1795724668, 'billing', 'api', 'key.create', 'key_hokbiuy95ztES9ip', 'null', '{"name":"unbanned","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(17, 1795724668, 'billing', 'api', 'key.create', 'key_hokbiuywrpDMejhO', 'null', '{"name":"bannedOnce","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(18, 1795818270, 'root', 'cli', 'operator.create', 'op_hokbivalbiNrTPvY', 'null', '{"name":"support","role":"keys","expiresAt":null}', NULL),
	(19, 1795818270, 'root', 'cli', 'operator.create', 'op_hokbivbu0tDANwHS', 'null', '{"name":"contractor","role":"admin","expiresAt":1795818271}', NULL),
	(20, 1795818270, 'root', 'cli', 'operator.create', 'op_hokbivdkujsiwPcD', 'null', '{"name":"leaver","role":"admin","expiresAt":null}', NULL),
	(21, 1795818270, 'root', 'cli', 'operator.revoke', 'op_hokbivdkujsiwPcD', '{"revokedAt":null}', '{"revokedAt":1795818270}', NULL),
	(22, 1795818270, 'root', 'cli', 'key.rotate', 'key_hokbiuvp3fjPho0w', '{"prefix":"petcat_live_YLVK"}', '{"prefix":"petcat_live_s9iM","oldEndsAt":1795904670}', NULL),
	(23, 1795818270, 'root', 'cli', 'key.rotate', 'key_hokbiuw53cQ3l3h7', '{"prefix":"petcat_live_3XgK"}', '{"prefix":"petcat_live_r1WX","oldEndsAt":1795818270}', NULL),
	(24, 1795818270, 'root', 'cli', 'key.revoke', 'key_hokbiuupcvLg6pM5', '{"revokedAt":null}', '{"revokedAt":1795818270}', NULL),
	(25, 1795818270, 'root', 'cli', 'key.update', 'key_hokbiupb90p7p83c', '{"plan":"free","limits":{"minute":60,"day":1000}}', '{"plan":"pro","limits":{"minute":300,"day":10000}}', NULL),
	(26, 1795818270, 'root', 'cli', 'key.update', 'key_hokbiupb90p7p83c', '{"plan":"pro","limits":{"minute":300,"day":10000}}', '{"plan":"free","limits":{"minute":60,"day":1000}}', NULL),
	(27, 1795818270, 'root', 'cli', 'key.create', 'key_hokbivpbcbCK6TWm', 'null', '{"name":"staging","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(28, 1795818330, 'root', 'cli', 'category.delete', '7', '{"id":7,"name":"Unicorn"}', 'null', NULL),
	(29, 1795818330, 'root', 'cli', 'category.rename', '2', '{"name":"Cat"}', '{"name":"Cats"}', NULL),
	(30, 1795818330, 'operator', 'console', 'console.open', 'session_hokbivtydxEErqPC', 'null', '{"role":"admin","endsAt":1795861530}', NULL),
	(31, 1795818330, 'operator', 'console', 'console.open', 'session_hokbivutvfbWJnYP', 'null', '{"role":"viewer","endsAt":1795861530}', NULL),
	(32, 1795818330, 'operator', 'console', 'console.open', 'session_hokbivvae6TVIoz5', 'null', '{"role":"admin","endsAt":1795861530}', NULL),
	(33, 1795818330, 'operator', 'console', 'console.revoke', 'session_hokbivvae6TVIoz5', '{"actor":"operator","endsAt":1795861530}', 'null', NULL),
	(34, 1795818332, 'billing', 'api', 'ban.lift', 'key_hokbiuy95ztES9ip', '{"banned":true}', '{"banned":false}', NULL);
INSERT INTO public.bans VALUES
	('key_hokbiuywrpDMejhO', 1795811070, 1795811130, 1, 'refused 3 more times within a minute of a 429', NULL),
	('key_hokbiuy95ztES9ip', 1795818332, 1795818392, 1, 'refused 3 more times within a minute of a 429', 1795818332),
	('key_hokbiuxvbaBTHZLS', 1795818334, 1795818394, 1, 'refused 3 more times within a minute of a 429', NULL);
INSERT INTO public.categories VALUES
	(1, 'Dog', NULL, 1795724668, 'key_hokbiuquwjYeKZ44', NULL),
	(3, 'Häschen 🐇', NULL, 1795724668, 'key_hokbiuquwjYeKZ44', NULL),
	(4, 'Parrot', NULL, 1795724668, 'key_hokbiuquwjYeKZ44', NULL),
	(5, 'Fish', 'quiet', 1795724668, 'key_hokbiuquwjYeKZ44', NULL),
	(6, 'Horse', 'needs a field', 1795818330, 'key_hokbiuquwjYeKZ44', NULL),
	(2, 'Cats', NULL, 1795724668, 'key_hokbiuquwjYeKZ44', NULL);
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
	('qVoQBJRhXwZ8OQ4M0Wv8IKfrvSrRtD_DEadiCQOiBec', 'operator', 1795818930, 'keys');
INSERT INTO public.console_sessions VALUES
	('KK8EaZ-gKszRamKVGoCckOIhA8F7Wmb0n3amlwPog_M', 'session_hokbivtydxEErqPC', 'operator', 1795818330, 1795861530, 1795818330, 'admin'),
	('axqR14UgswjOMAtZNvBsG03srfWw5p7ePwakHYQfyeM', 'session_hokbivutvfbWJnYP', 'operator', 1795818330, 1795861530, 1795818330, 'viewer');
INSERT INTO public.key_changes VALUES
	(1, 'key_hokbiupb90p7p83c'),
	(2, 'key_hokbiuq61w4ymk6w'),
	(3, 'key_hokbiuquwjYeKZ44'),
	(4, 'key_hokbiurvupP5U82Y'),
	(5, 'key_hokbiuse7bY0JpbW'),
	(6, 'key_hokbiut1a6JBaHt3'),
	(7, 'key_hokbiutrj9zPl25m'),
	(8, 'key_hokbiuupcvLg6pM5'),
	(9, 'key_hokbiuvp3fjPho0w'),
	(10, 'key_hokbiuw53cQ3l3h7'),
	(11, 'key_hokbiuwomeYiTPq4'),
	(12, 'key_hokbiuxblbhXXLr5'),
	(13, 'key_hokbiuxvbaBTHZLS'),
	(14, 'key_hokbiuy95ztES9ip'),
	(15, 'key_hokbiuywrpDMejhO'),
	(16, 'key_hokbiuywrpDMejhO'),
	(17, 'key_hokbiuvp3fjPho0w'),
	(18, 'key_hokbiuw53cQ3l3h7'),
	(19, 'key_hokbiuupcvLg6pM5'),
	(20, 'key_hokbiupb90p7p83c'),
	(21, 'key_hokbiupb90p7p83c'),
	(22, 'key_hokbivpbcbCK6TWm'),
	(23, 'key_hokbiuy95ztES9ip'),
	(24, 'key_hokbiuy95ztES9ip'),
	(25, 'key_hokbiuxvbaBTHZLS');
INSERT INTO public.key_route_usage VALUES
	('hour', 1795723200, '*', 'GET /v1/categories', 7, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, '*', 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, '*', 'GET /v1/pets', 0, 1, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, '*', 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, '*', 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, '*', 'POST /v1/categories', 5, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, '*', 'POST /v1/pets', 3, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, 'key_hokbiupb90p7p83c', 'GET /v1/categories', 1, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, 'key_hokbiuq61w4ymk6w', 'GET /v1/categories', 1, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, 'key_hokbiuq61w4ymk6w', 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, 'key_hokbiuq61w4ymk6w', 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, 'key_hokbiuq61w4ymk6w', 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, 'key_hokbiuquwjYeKZ44', 'POST /v1/categories', 5, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, 'key_hokbiuquwjYeKZ44', 'POST /v1/pets', 3, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, 'key_hokbiurvupP5U82Y', 'GET /v1/categories', 1, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, 'key_hokbiuse7bY0JpbW', 'GET /v1/pets', 0, 1, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, 'key_hokbiutrj9zPl25m', 'GET /v1/categories', 1, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, 'key_hokbiuupcvLg6pM5', 'GET /v1/categories', 1, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, 'key_hokbiuvp3fjPho0w', 'GET /v1/categories', 1, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795723200, 'key_hokbiuw53cQ3l3h7', 'GET /v1/categories', 1, 0, 0, 0, 1795724668, 1795724668),
	('hour', 1795809600, '*', 'GET /v1/categories', 2, 0, 4, 0, 1795811068, 1795811070),
	('hour', 1795809600, 'key_hokbiuywrpDMejhO', 'GET /v1/categories', 2, 0, 4, 0, 1795811068, 1795811070),
	('hour', 1795816800, '*', 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 1795818330, 1795818330),
	('hour', 1795816800, '*', 'GET /v1/categories', 12, 0, 9, 0, 1795818330, 1795818339),
	('hour', 1795816800, '*', 'GET /v1/inventory', 1, 0, 0, 0, 1795818339, 1795818339),
	('hour', 1795816800, '*', 'GET /v1/pets', 1, 0, 0, 0, 1795818339, 1795818339),
	('hour', 1795816800, '*', 'GET /v1/rate_limit', 6, 0, 0, 0, 1795818339, 1795818339),
	('hour', 1795816800, '*', 'GET /v1/store/orders', 1, 0, 0, 0, 1795818339, 1795818339),
	('hour', 1795816800, '*', 'POST /v1/categories', 2, 0, 0, 0, 1795818330, 1795818330),
	('hour', 1795816800, '*', 'POST /v1/pets', 1, 0, 0, 0, 1795818330, 1795818330),
	('hour', 1795816800, '*', 'POST /v1/store/orders', 3, 0, 0, 0, 1795818330, 1795818330),
	('hour', 1795816800, 'key_hokbiupb90p7p83c', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795818339, 1795818339),
	('hour', 1795816800, 'key_hokbiuquwjYeKZ44', 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 1795818330, 1795818330),
	('hour', 1795816800, 'key_hokbiuquwjYeKZ44', 'GET /v1/categories', 3, 0, 0, 0, 1795818330, 1795818339),
	('hour', 1795816800, 'key_hokbiuquwjYeKZ44', 'GET /v1/inventory', 1, 0, 0, 0, 1795818339, 1795818339),
	('hour', 1795816800, 'key_hokbiuquwjYeKZ44', 'GET /v1/pets', 1, 0, 0, 0, 1795818339, 1795818339),
	('hour', 1795816800, 'key_hokbiuquwjYeKZ44', 'GET /v1/store/orders', 1, 0, 0, 0, 1795818339, 1795818339),
	('hour', 1795816800, 'key_hokbiuquwjYeKZ44', 'POST /v1/categories', 2, 0, 0, 0, 1795818330, 1795818330),
	('hour', 1795816800, 'key_hokbiuquwjYeKZ44', 'POST /v1/pets', 1, 0, 0, 0, 1795818330, 1795818330),
	('hour', 1795816800, 'key_hokbiuquwjYeKZ44', 'POST /v1/store/orders', 3, 0, 0, 0, 1795818330, 1795818330),
	('hour', 1795816800, 'key_hokbiuwomeYiTPq4', 'GET /v1/categories', 3, 0, 0, 0, 1795818334, 1795818334),
	('hour', 1795816800, 'key_hokbiuwomeYiTPq4', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795818339, 1795818339),
	('hour', 1795816800, 'key_hokbiuxblbhXXLr5', 'GET /v1/categories', 2, 0, 1, 0, 1795818334, 1795818334),
	('hour', 1795816800, 'key_hokbiuxblbhXXLr5', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795818339, 1795818339),
	('hour', 1795816800, 'key_hokbiuxvbaBTHZLS', 'GET /v1/categories', 2, 0, 4, 0, 1795818332, 1795818334),
	('hour', 1795816800, 'key_hokbiuxvbaBTHZLS', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795818339, 1795818339),
	('hour', 1795816800, 'key_hokbiuy95ztES9ip', 'GET /v1/categories', 2, 0, 4, 0, 1795818330, 1795818332),
	('hour', 1795816800, 'key_hokbiuy95ztES9ip', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795818339, 1795818339),
	('hour', 1795816800, 'key_hokbiuywrpDMejhO', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795818339, 1795818339);
INSERT INTO public.kysely_migration VALUES
	('001-categories-keys-limits', '2026-11-27T22:24:28.848Z'),
	('002-pets-orders-outcomes', '2026-11-27T22:24:28.848Z'),
	('003-usage-audit-sessions', '2026-11-27T22:24:28.848Z'),
	('004-row-checksums', '2026-11-27T22:24:28.848Z'),
	('005-session-last-seen', '2026-11-27T22:24:28.848Z'),
	('006-catalog-bytes', '2026-11-27T22:24:28.848Z'),
	('007-category-changes', '2026-11-27T22:24:28.848Z'),
	('008-attempts', '2026-11-27T22:24:28.848Z'),
	('009-filter-indexes', '2026-11-27T22:24:28.848Z'),
	('010-operators', '2026-11-27T22:24:28.848Z'),
	('011-rehearsal', '2026-11-27T22:24:28.848Z'),
	('012-route-usage', '2026-11-27T22:24:28.848Z'),
	('013-rehearsal-turns', '2026-11-27T22:24:28.848Z'),
	('014-outcomes-bans-usage@0.2.0', '2026-11-27T22:24:28.848Z'),
	('015-pauses-users', '2026-11-27T22:24:28.848Z');
INSERT INTO public.last_ids VALUES
	('pets', 4),
	('orders', 3),
	('audit_entries', 34);
INSERT INTO public.operator_tokens VALUES
	('op_hokbiuob2qs8wEI2', 'gpwJIxzfzBfgmCpXgcP1-_afz4kNSsxdePJK7EjNDuU', 'billing', 'petcat_op_FgCdIr', 'admin', 1795724668, NULL, NULL),
	('op_hokbiuosd9RmiURS', 'XCxT10ZvxldBzb8wNEoGNUNYF2tqRp4QdBbQ0_6GOdQ', 'dashboards', 'petcat_op_QxGZPm', 'viewer', 1795724668, NULL, NULL),
	('op_hokbivalbiNrTPvY', '_ki9QDMaeGOTR1tQLhEDVO9DrsZPza_vPgEFE7ASs3w', 'support', 'petcat_op_YUrRnZ', 'keys', 1795818270, NULL, NULL),
	('op_hokbivbu0tDANwHS', 'V3_Yn6SzEc3bJvR4d-1oKQxqfItMxkPG-LdPdTueTfY', 'contractor', 'petcat_op_lAo5p4', 'admin', 1795818270, 1795818271, NULL),
	('op_hokbivdkujsiwPcD', '3RhtNFQNun1uKcZmUFZ9ieg7yIrT78TQ0YZpLmK2jMg', 'leaver', 'petcat_op_vKnT1p', 'admin', 1795818270, NULL, 1795818270);
INSERT INTO public.orders VALUES
	(1, 1, 2, '2099-12-31T12:00:00Z', 1795818330, 'key_hokbiuquwjYeKZ44', NULL),
	(2, 1, 1, NULL, 1795818330, 'key_hokbiuquwjYeKZ44', NULL);
INSERT INTO public.outcomes VALUES
	('key_hokbiuquwjYeKZ44', 'ObnxTnS5LYY2UN5RizdCm1y0hJPTVMOF_kwqYOWMv0Q', '7Xp8K2Tkxb9xvL2vUUqYcn7Xu7YXvBKOAe00k91LHrI', '{"id":5,"name":"Fish","description":"quiet"}', 1795724668),
	('', '6PdgH8n6gBWWZpUwxS9NudRIxehukFOQpFER7tXaVwo', '', '', 1795811070),
	('', 'lSkUIIHQjTiZqdL9ZZKmS5EWgfvNVyVYpVMxlMqpQzc', '', '', 1795811070),
	('', '_P_P-84YLhA_hFhGiu5QDIltjYtVGRhlX4nDF8QkVa8', '', '', 1795811070),
	('', '85baQAL3pO4TnIjKzG4Ob1__GlRcUPExxtpOK8QA3mY', '', '', 1795811070),
	('', 'evM7MMOomrJHGIPCC5yNEyUIlbrt93V0goCSOAczlEM', '', '', 1795811070),
	('key_hokbiuquwjYeKZ44', 'rHfr2zOxCiqXXJsUKyl35MGzulVlooWi-K_Wxhv3WSM', 'MjWWtUU4UmPQ64paiHry_3YZFn8wCuwOg3kgGzVkAro', '{"id":6,"name":"Horse","description":"needs a field"}', 1795818330),
	('key_hokbiuquwjYeKZ44', 'cIf0lSp2fnftCEsEBZmPidGFaoo07xAIcMGIeHN-kxE', '8_4mpO9vl_lOME_tzTLgky_A-xRd1DrU79hUqIIEiDA', '{"id":4,"name":"Polly","categoryId":4,"status":"available"}', 1795818330),
	('key_hokbiuquwjYeKZ44', 'JTUCIy6OhufraM60SNNlhd6IxAHLDE4Bj8TbEtisB0c', '29EVmU7XZOdaaeZg0qFixTRznRj0Ufhyt_TE_mDf-nA', '{"id":1,"petId":1,"quantity":2,"shipDate":"2099-12-31T12:00:00Z","complete":false}', 1795818330),
	('', 'ZvuVgj4hhEqrFkh79sSS6mBYOD2JR8hk0tfJr6sqS2E', '', '', 1795818339),
	('', '2I5kA_1kfWmFBR_BW_s0sqMSkjNct5BWM9CecNxHzjg', '', '', 1795818339),
	('', '9rp4s3JhsBVtXf2YYo6BR4oWKvRk4xlL7A64s7Qjkpo', '', '', 1795818339);
INSERT INTO public.pets VALUES
	(2, 'Minka', 2, 'pending', 1, 1795724668, 'key_hokbiuquwjYeKZ44', NULL),
	(3, 'Bella', 1, 'sold', 0, 1795724668, 'key_hokbiuquwjYeKZ44', NULL),
	(4, 'Polly', 4, 'available', 1, 1795818330, 'key_hokbiuquwjYeKZ44', NULL),
	(1, 'Rex II', 1, 'available', 7, 1795724668, 'key_hokbiuquwjYeKZ44', NULL);
INSERT INTO public.route_usage VALUES
	('minute', 1795811040, 'GET /v1/categories', 9, 0, 4, 0, 3, 0, 0, 2, 4, 3, 1, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795811040, 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795811040, 'GET /v1/pets', 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795811040, 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795811040, 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795811040, 'POST /v1/categories', 5, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795811040, 'POST /v1/pets', 3, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795809600, 'GET /v1/categories', 9, 0, 4, 0, 3, 0, 0, 2, 4, 3, 1, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795809600, 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795809600, 'GET /v1/pets', 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795809600, 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795809600, 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795809600, 'POST /v1/categories', 5, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795809600, 'POST /v1/pets', 3, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795737600, 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795737600, 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795737600, 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795818300, 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795818300, 'GET /v1/categories', 12, 0, 9, 0, 15, 0, 2, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795818300, 'GET /v1/inventory', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795818300, 'GET /v1/pets', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795818300, 'GET /v1/rate_limit', 6, 0, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795818300, 'GET /v1/store/orders', 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795818300, 'POST /v1/categories', 2, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795818300, 'POST /v1/pets', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('minute', 1795818300, 'POST /v1/store/orders', 3, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795816800, 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795816800, 'GET /v1/categories', 12, 0, 9, 0, 15, 0, 2, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795816800, 'GET /v1/inventory', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795816800, 'GET /v1/pets', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795816800, 'GET /v1/rate_limit', 6, 0, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795816800, 'GET /v1/store/orders', 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795816800, 'POST /v1/categories', 2, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795816800, 'POST /v1/pets', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('hour', 1795816800, 'POST /v1/store/orders', 3, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795737600, 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795737600, 'GET /v1/categories', 21, 0, 13, 0, 18, 0, 2, 3, 6, 4, 1, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795737600, 'GET /v1/inventory', 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795737600, 'GET /v1/pets', 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795737600, 'GET /v1/rate_limit', 6, 0, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795737600, 'GET /v1/store/orders', 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795737600, 'POST /v1/categories', 7, 0, 0, 0, 0, 0, 0, 0, 2, 3, 2, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795737600, 'POST /v1/pets', 4, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0),
	('day', 1795737600, 'POST /v1/store/orders', 3, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO public.usage VALUES
	('minute', 1795724640, '*', 17, 2, 0, 0, 1795724668, 1795724668),
	('minute', 1795724640, 'key_hokbiupb90p7p83c', 1, 0, 0, 0, 1795724668, 1795724668),
	('minute', 1795724640, 'key_hokbiuq61w4ymk6w', 3, 1, 0, 0, 1795724668, 1795724668),
	('minute', 1795724640, 'key_hokbiuquwjYeKZ44', 8, 0, 0, 0, 1795724668, 1795724668),
	('minute', 1795724640, 'key_hokbiurvupP5U82Y', 1, 0, 0, 0, 1795724668, 1795724668),
	('minute', 1795724640, 'key_hokbiuse7bY0JpbW', 0, 1, 0, 0, 1795724668, 1795724668),
	('minute', 1795724640, 'key_hokbiutrj9zPl25m', 1, 0, 0, 0, 1795724668, 1795724668),
	('minute', 1795724640, 'key_hokbiuupcvLg6pM5', 1, 0, 0, 0, 1795724668, 1795724668),
	('minute', 1795724640, 'key_hokbiuvp3fjPho0w', 1, 0, 0, 0, 1795724668, 1795724668),
	('minute', 1795724640, 'key_hokbiuw53cQ3l3h7', 1, 0, 0, 0, 1795724668, 1795724668),
	('minute', 1795811040, '*', 2, 0, 4, 0, 1795811068, 1795811070),
	('minute', 1795811040, 'key_hokbiuywrpDMejhO', 2, 0, 4, 0, 1795811068, 1795811070),
	('minute', 1795818300, '*', 28, 0, 9, 0, 1795818330, 1795818339),
	('minute', 1795818300, 'key_hokbiupb90p7p83c', 1, 0, 0, 0, 1795818339, 1795818339),
	('minute', 1795818300, 'key_hokbiuquwjYeKZ44', 13, 0, 0, 0, 1795818330, 1795818339),
	('minute', 1795818300, 'key_hokbiuwomeYiTPq4', 4, 0, 0, 0, 1795818334, 1795818339),
	('minute', 1795818300, 'key_hokbiuxblbhXXLr5', 3, 0, 1, 0, 1795818334, 1795818339),
	('minute', 1795818300, 'key_hokbiuxvbaBTHZLS', 3, 0, 4, 0, 1795818332, 1795818339),
	('minute', 1795818300, 'key_hokbiuy95ztES9ip', 3, 0, 4, 0, 1795818330, 1795818339),
	('minute', 1795818300, 'key_hokbiuywrpDMejhO', 1, 0, 0, 0, 1795818339, 1795818339);
INSERT INTO public.window_counts VALUES
	('key_hokbiupb90p7p83c', 1795724728, 1, 20783, 1),
	('key_hokbiuq61w4ymk6w', 1795724728, 4, 20783, 4),
	('key_hokbiurvupP5U82Y', 1795724728, 1, 20783, 1),
	('key_hokbiuse7bY0JpbW', 1795724728, 1, 20783, 1),
	('key_hokbiutrj9zPl25m', 1795724728, 1, 20783, 1),
	('key_hokbiuupcvLg6pM5', 1795724728, 1, 20783, 1),
	('key_hokbiuvp3fjPho0w', 1795724728, 1, 20783, 1),
	('key_hokbiuw53cQ3l3h7', 1795724728, 1, 20783, 1),
	('key_hokbiuywrpDMejhO', 1795811128, 2, 20784, 2),
	('key_hokbiuquwjYeKZ44', 1795818390, 13, 20784, 13),
	('key_hokbiuwomeYiTPq4', 1795818394, 3, 20784, 3),
	('key_hokbiuxblbhXXLr5', 1795818394, 2, 20784, 2),
	('key_hokbiuxvbaBTHZLS', 1795818392, 2, 20784, 2),
	('key_hokbiuy95ztES9ip', 1795818390, 2, 20784, 2);
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
