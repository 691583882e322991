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
    search text,
    minute_reset bigint DEFAULT 0 NOT NULL,
    day_reset bigint DEFAULT 0 NOT NULL
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
CREATE TABLE public.changes (
    id bigint NOT NULL,
    kind text NOT NULL,
    target bigint NOT NULL,
    at bigint NOT NULL,
    verb text NOT NULL,
    key_id text NOT NULL,
    request_id text,
    idempotency_key text,
    before text NOT NULL,
    after text NOT NULL
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
CREATE TABLE public.database_properties (
    name text NOT NULL,
    value text NOT NULL
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
    day_used bigint NOT NULL,
    minute_reset bigint DEFAULT 0 NOT NULL,
    day_reset bigint DEFAULT 0 NOT NULL
);
INSERT INTO public.api_key_secrets VALUES
	('SKvgckfDuEt784Dl3NeEv5yHfy0M2HpoCv2Egy55Kuc', 'key_hokzbiv8ljs0xl25', 'petcat_live_NTsI', 1795776468, NULL, NULL),
	('zxkgLryKxNTTexROfkar8S69XDtl9JVZDdHtF6x7_sE', 'key_hokzbivfo4famY88', 'petcat_live_8l93', 1795776468, NULL, NULL),
	('3qlJUfGcr4hCUI6nW0BWrHlk3_PfUQ-B72T_6FPc1lg', 'key_hokzbivplbnTriPy', 'petcat_live_WrLy', 1795776468, NULL, NULL),
	('aFETbFG0AqeWSos0l6_m4C1_ktRWYjkOeC_pEmEzqHM', 'key_hokzbivvivI1GFm8', 'petcat_live_xJM1', 1795776468, NULL, NULL),
	('WRQP-Zl4sH4BEeK2tiIbHTwYWHtgTludrTN9xntAGMc', 'key_hokzbiw2vl0F2ykU', 'petcat_live_XlbJ', 1795776468, NULL, NULL),
	('8y3wxPz77Jgsywtld2tTYRI4_sffnEo1yG1MFF2_QP8', 'key_hokzbiwd12N7b2h9', 'petcat_live_sPLU', 1795776468, NULL, NULL),
	('PHyzGm_hpt_K8H3uCZYJKoxkbXT4Pe-KbMlWTyAueSg', 'key_hokzbiwm78SGSwDn', 'petcat_live_00op', 1795776468, NULL, NULL),
	('wq6YWwWGHISvdbZMNaUpjGUo3S9R5IGD1iABYsUacUo', 'key_hokzbiwuiz6HyYhs', 'petcat_live_VwKL', 1795776468, NULL, NULL),
	('95h6YvPsF3I8L6RWzH7BinhBygnpUExqogOxsz2YHqM', 'key_hokzbixdstQ8f2Jw', 'petcat_live_Ql2I', 1795776468, NULL, NULL),
	('IibJ2HKiSIk9ZznU0WQLczuEA7c2WHfc6jKPEhUkDLU', 'key_hokzbixjmsgZMAJs', 'petcat_live_QDrC', 1795776468, NULL, NULL),
	('LGxhVqn56zVngvHMz1PUyWxZQ163EMtN441hFRCtHoY', 'key_hokzbixos6JglzEA', 'petcat_live_N7Op', 1795776468, NULL, NULL),
	('8CKE3PCFpARy0MFBPvs8GMfKsxU_4VgCXHFeOoshmmM', 'key_hokzbixursT5yisP', 'petcat_live_hpFH', 1795776468, NULL, NULL),
	('RyDlP7oRpwbhS7Ni29sHuN--HTOWdLL0fTa6dGFjKEQ', 'key_hokzbiya2xq9VrSm', 'petcat_live_XT4x', 1795776468, NULL, NULL),
	('sMEiLNWM5JBcZyvrw6NFWIcwHDG4sJSVnJ0IK8L43_Y', 'key_hokzbix2isvHwlLm', 'petcat_live_EYn7', 1795776468, 1795956470, NULL),
	('sAAxU13Dm6Kwh8aJ9PKDruO0Ttc700NpiHRLk_-aanw', 'key_hokzbix2isvHwlLm', 'petcat_live_ireJ', 1795870070, NULL, NULL),
	('wpWIjO21Je_192AlbClczPDQTsBLVAD2oD-1binUlGU', 'key_hokzbix82bDDsMEg', 'petcat_live_a60B', 1795776468, 1795870070, NULL),
	('gAF_PhjyMC1Fdoh_pecwc3Rq6HWZOfkMHoxKxa9T96A', 'key_hokzbix82bDDsMEg', 'petcat_live_Fi5C', 1795870070, NULL, NULL),
	('S9NAyOO0qhvrJVJLnkrmHKKlTJPAD6gz3XslNC8d5Xs', 'key_hokzbj9zisXCB1gh', 'petcat_test_upYw', 1795870070, NULL, NULL);
INSERT INTO public.api_keys VALUES
	('key_hokzbivfo4famY88', 'pro', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795776468, NULL, NULL, NULL, 'cus_42', 0, NULL, 'pro
cus_42
key_hokzbivfo4famy88', 0, 0),
	('key_hokzbivplbnTriPy', 'business', 'production', 'business', 1000, 100000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795776468, NULL, NULL, NULL, 'cus_42', 0, NULL, 'business
cus_42
key_hokzbivplbntripy', 0, 0),
	('key_hokzbivvivI1GFm8', 'enterprise', 'production', 'enterprise', 500, 5000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795776468, NULL, NULL, NULL, NULL, 0, NULL, 'enterprise
key_hokzbivvivi1gfm8', 0, 0),
	('key_hokzbiw2vl0F2ykU', 'reader', 'production', 'pro', 300, 10000, 'categories:read', 1795776468, NULL, NULL, NULL, NULL, 0, NULL, 'reader
key_hokzbiw2vl0f2yku', 0, 0),
	('key_hokzbiwd12N7b2h9', 'ending', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795776468, 4102401600, NULL, NULL, NULL, 0, NULL, 'ending
key_hokzbiwd12n7b2h9', 0, 0),
	('key_hokzbiwm78SGSwDn', 'ended', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795776468, 1795780068, NULL, NULL, NULL, 0, NULL, 'ended
key_hokzbiwm78sgswdn', 0, 0),
	('key_hokzbix2isvHwlLm', 'rotated', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795776468, NULL, NULL, NULL, NULL, 0, NULL, 'rotated
key_hokzbix2isvhwllm', 0, 0),
	('key_hokzbix82bDDsMEg', 'leaked', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795776468, NULL, NULL, NULL, NULL, 0, NULL, 'leaked
key_hokzbix82bddsmeg', 0, 0),
	('key_hokzbixdstQ8f2Jw', 'counting', 'production', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795776468, NULL, NULL, NULL, NULL, 0, NULL, 'counting
key_hokzbixdstq8f2jw', 0, 0),
	('key_hokzbixjmsgZMAJs', 'spent', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795776468, NULL, NULL, NULL, NULL, 0, NULL, 'spent
key_hokzbixjmsgzmajs', 0, 0),
	('key_hokzbixos6JglzEA', 'banned', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795776468, NULL, NULL, NULL, NULL, 0, NULL, 'banned
key_hokzbixos6jglzea', 0, 0),
	('key_hokzbiya2xq9VrSm', 'bannedOnce', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795776468, NULL, NULL, NULL, NULL, 0, NULL, 'bannedonce
key_hokzbiya2xq9vrsm', 0, 0),
	('key_hokzbiwuiz6HyYhs', 'revoked', 'production', 'pro', 300, 10000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795776468, NULL, 1795870070, NULL, NULL, 0, NULL, 'revoked
key_hokzbiwuiz6hyyhs', 0, 0),
	('key_hokzbiv8ljs0xl25', 'free', 'production', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795776468, NULL, NULL, NULL, NULL, 0, NULL, 'free
key_hokzbiv8ljs0xl25', 0, 0),
	('key_hokzbj9zisXCB1gh', 'staging', 'staging', 'free', 60, 1000, 'categories:read categories:write pets:read pets:write store:read store:write', 1795870070, NULL, NULL, NULL, NULL, 0, NULL, 'staging
key_hokzbj9zisxcb1gh', 0, 0),
	('key_hokzbixursT5yisP', 'unbanned', 'production', 'enterprise', 2, 100, 'categories:read categories:write pets:read pets:write store:read store:write', 1795776468, NULL, NULL, NULL, NULL, 1, NULL, 'unbanned
key_hokzbixurst5yisp', 0, 0);
INSERT INTO public.audit_entries VALUES
	(1, 1795776468, 'test', 'cli', 'operator.create', 'op_hokzbiuvv0BRlNc7', 'null', '{"name":"billing","role":"admin","expiresAt":null}', NULL),
	(2, 1795776468, 'test', 'cli', 'operator.create', 'op_hokzbiv1rhKTrFC3', 'null', '{"name":"dashboards","role":"viewer","expiresAt":null}', NULL),
	(3, 1795776468, 'billing', 'api', 'key.create', 'key_hokzbiv8ljs0xl25', 'null', '{"name":"free","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(4, 1795776468, 'billing', 'api', 'key.create', 'key_hokzbivfo4famY88', 'null', '{"name":"pro","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null,"owner":"cus_42"}', NULL),
	(5, 1795776468, 'billing', 'api', 'key.create', 'key_hokzbivplbnTriPy', 'null', '{"name":"business","plan":"business","limits":{"minute":1000,"day":100000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null,"owner":"cus_42"}', NULL),
	(6, 1795776468, 'billing', 'api', 'key.create', 'key_hokzbivvivI1GFm8', 'null', '{"name":"enterprise","plan":"enterprise","limits":{"minute":500,"day":5000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(7, 1795776468, 'billing', 'api', 'key.create', 'key_hokzbiw2vl0F2ykU', 'null', '{"name":"reader","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read"],"expiresAt":null}', NULL),
	(8, 1795776468, 'billing', 'api', 'key.create', 'key_hokzbiwd12N7b2h9', 'null', '{"name":"ending","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":4102401600}', NULL),
	(9, 1795776468, 'billing', 'api', 'key.create', 'key_hokzbiwm78SGSwDn', 'null', '{"name":"ended","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":1795780068}', NULL),
	(10, 1795776468, 'billing', 'api', 'key.create', 'key_hokzbiwuiz6HyYhs', 'null', '{"name":"revoked","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(11, 1795776468, 'billing', 'api', 'key.create', 'key_hokzbix2isvHwlLm', 'null', '{"name":"rotated","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(12, 1795776468, 'billing', 'api', 'key.create', 'key_hokzbix82bDDsMEg', 'null', '{"name":"leaked","plan":"pro","limits":{"minute":300,"day":10000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(13, 1795776468, 'billing', 'api', 'key.create', 'key_hokzbixdstQ8f2Jw', 'null', '{"name":"counting","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(14, 1795776468, 'billing', 'api', 'key.create', 'key_hokzbixjmsgZMAJs', 'null', '{"name":"spent","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(15, 1795776468, 'billing', 'api', 'key.create', 'key_hokzbixos6JglzEA', 'null', '{"name":"banned","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(16, 1795776468, 'billing', 'api', 'key.create', 'key_hokzbixursT5yisP', 'null', '{"name":"unbanned","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(17, 1795776468, 'billing', 'api', 'key.create', 'key_hokzbiya2xq9VrSm', 'null', '{"name":"bannedOnce","plan":"enterprise","limits":{"minute":2,"day":100},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(18, 1795870070, 'root', 'cli', 'operator.create', 'op_hokzbj4ai7jvto7A', 'null', '{"name":"support","role":"keys","expiresAt":null}', NULL),
	(19, 1795870070, 'root', 'cli', 'operator.create', 'op_hokzbj4ravXWI61i', 'null', '{"name":"contractor","role":"admin","expiresAt":1795870071}', NULL),
	(20, 1795870070, 'root', 'cli', 'operator.create', 'op_hokzbj57xmOeqpkU', 'null', '{"name":"leaver","role":"admin","expiresAt":null}', NULL),
	(21, 1795870070, 'root', 'cli', 'operator.revoke', 'op_hokzbj57xmOeqpkU', '{"revokedAt":null}', '{"revokedAt":1795870070}', NULL),
	(22, 1795870070, 'root', 'cli', 'key.rotate', 'key_hokzbix2isvHwlLm', '{"prefix":"petcat_live_EYn7"}', '{"prefix":"petcat_live_ireJ","oldEndsAt":1795956470}', NULL),
	(23, 1795870070, 'root', 'cli', 'key.rotate', 'key_hokzbix82bDDsMEg', '{"prefix":"petcat_live_a60B"}', '{"prefix":"petcat_live_Fi5C","oldEndsAt":1795870070}', NULL),
	(24, 1795870070, 'root', 'cli', 'key.revoke', 'key_hokzbiwuiz6HyYhs', '{"revokedAt":null}', '{"revokedAt":1795870070}', NULL),
	(25, 1795870070, 'root', 'cli', 'key.update', 'key_hokzbiv8ljs0xl25', '{"plan":"free","limits":{"minute":60,"day":1000}}', '{"plan":"pro","limits":{"minute":300,"day":10000}}', NULL),
	(26, 1795870070, 'root', 'cli', 'key.update', 'key_hokzbiv8ljs0xl25', '{"plan":"pro","limits":{"minute":300,"day":10000}}', '{"plan":"free","limits":{"minute":60,"day":1000}}', NULL),
	(27, 1795870070, 'root', 'cli', 'key.create', 'key_hokzbj9zisXCB1gh', 'null', '{"name":"staging","plan":"free","limits":{"minute":60,"day":1000},"scopes":["categories:read","categories:write","pets:read","pets:write","store:read","store:write"],"expiresAt":null}', NULL),
	(28, 1795870130, 'root', 'cli', 'category.delete', '7', '{"id":7,"name":"Unicorn","createdAt":1795870130,"createdBy":"key_hokzbivplbnTriPy"}', 'null', NULL),
	(29, 1795870130, 'root', 'cli', 'category.rename', '2', '{"name":"Cat"}', '{"name":"Cats"}', NULL),
	(30, 1795870130, 'operator', 'console', 'console.open', 'session_hokzbjfg9oAtqRm5', 'null', '{"role":"admin","endsAt":1795913330}', NULL),
	(31, 1795870130, 'operator', 'console', 'console.open', 'session_hokzbjfxm9zd3SNV', 'null', '{"role":"viewer","endsAt":1795913330}', NULL),
	(32, 1795870130, 'operator', 'console', 'console.open', 'session_hokzbjg8hcOWUUMb', 'null', '{"role":"admin","endsAt":1795913330}', NULL),
	(33, 1795870130, 'operator', 'console', 'console.revoke', 'session_hokzbjg8hcOWUUMb', '{"actor":"operator","endsAt":1795913330}', 'null', NULL),
	(34, 1795870132, 'billing', 'api', 'ban.lift', 'key_hokzbixursT5yisP', '{"banned":true}', '{"banned":false}', NULL);
INSERT INTO public.bans VALUES
	('key_hokzbiya2xq9VrSm', 1795862870, 1795862930, 1, 'refused 3 more times within a minute of a 429', NULL),
	('key_hokzbixursT5yisP', 1795870132, 1795870192, 1, 'refused 3 more times within a minute of a 429', 1795870132),
	('key_hokzbixos6JglzEA', 1795870134, 1795870194, 1, 'refused 3 more times within a minute of a 429', NULL);
INSERT INTO public.categories VALUES
	(1, 'Dog', NULL, 1795776468, 'key_hokzbivplbnTriPy', NULL),
	(3, 'Häschen 🐇', NULL, 1795776468, 'key_hokzbivplbnTriPy', NULL),
	(4, 'Parrot', NULL, 1795776468, 'key_hokzbivplbnTriPy', NULL),
	(5, 'Fish', 'quiet', 1795776468, 'key_hokzbivplbnTriPy', NULL),
	(6, 'Horse', 'needs a field', 1795870130, 'key_hokzbivplbnTriPy', NULL),
	(2, 'Cats', NULL, 1795776468, 'key_hokzbivplbnTriPy', NULL);
INSERT INTO public.category_changes VALUES
	(1, 7),
	(2, 2);
INSERT INTO public.category_counter VALUES
	(7, 6, 201);
INSERT INTO public.change_versions VALUES
	('clock', 0),
	('categories', 2),
	('keys', 25);
INSERT INTO public.changes VALUES
	(1, 'pet', 1, 1795776468, 'create', 'key_hokzbivplbnTriPy', '4azn_L05ihdDHq9d.5', NULL, 'null', '{"name":"Rex","categoryId":1,"status":"available","quantity":1}'),
	(2, 'pet', 2, 1795776468, 'create', 'key_hokzbivplbnTriPy', '4azn_L05ihdDHq9d.6', NULL, 'null', '{"name":"Minka","categoryId":2,"status":"pending","quantity":1}'),
	(3, 'pet', 3, 1795776468, 'create', 'key_hokzbivplbnTriPy', '4azn_L05ihdDHq9d.7', NULL, 'null', '{"name":"Bella","categoryId":1,"status":"sold","quantity":0}'),
	(4, 'pet', 1, 1795776468, 'update', 'key_hokzbivfo4famY88', '4azn_L05ihdDHq9d.i', NULL, '{"name":"Rex"}', '{"name":"Rex II"}'),
	(5, 'pet', 1, 1795776468, 'update', 'key_hokzbivfo4famY88', '4azn_L05ihdDHq9d.j', NULL, '{"quantity":1}', '{"quantity":10}'),
	(6, 'pet', 4, 1795870130, 'create', 'key_hokzbivplbnTriPy', 'gWNopUARCvseoEZ3.2', 'cIf0lSp2fnftCEsEBZmPidGFaoo07xAIcMGIeHN-kxE', 'null', '{"name":"Polly","categoryId":4,"status":"available","quantity":1}'),
	(7, 'order', 1, 1795870130, 'place', 'key_hokzbivplbnTriPy', 'gWNopUARCvseoEZ3.3', 'JTUCIy6OhufraM60SNNlhd6IxAHLDE4Bj8TbEtisB0c', 'null', '{"petId":1,"quantity":2,"shipDate":"2099-12-31T12:00:00Z"}'),
	(8, 'order', 2, 1795870130, 'place', 'key_hokzbivplbnTriPy', 'gWNopUARCvseoEZ3.4', NULL, 'null', '{"petId":1,"quantity":1}'),
	(9, 'order', 3, 1795870130, 'place', 'key_hokzbivplbnTriPy', 'gWNopUARCvseoEZ3.5', NULL, 'null', '{"petId":1,"quantity":3,"shipDate":"2099-12-31T12:00:00Z"}'),
	(10, 'order', 3, 1795870130, 'cancel', 'key_hokzbivplbnTriPy', 'gWNopUARCvseoEZ3.6', NULL, '{"petId":1,"quantity":3,"shipDate":"2099-12-31T12:00:00Z","createdAt":1795870130,"createdBy":"key_hokzbivplbnTriPy"}', 'null');
INSERT INTO public.console_sessions VALUES
	('LrcXjPLeOCVHFXzAjzfzXbDdvz0yzxkQNrwYSSGgCEI', 'session_hokzbjfg9oAtqRm5', 'operator', 1795870130, 1795913330, 1795870130, 'admin'),
	('v0vZMPKtJFjL1nV47up1F-UJmkJ2hfgbl040eEPEZjw', 'session_hokzbjfxm9zd3SNV', 'operator', 1795870130, 1795913330, 1795870130, 'viewer');
INSERT INTO public.database_properties VALUES
	('id', 'db_hokzbitjidd7DqL1');
INSERT INTO public.key_changes VALUES
	(1, 'key_hokzbiv8ljs0xl25'),
	(2, 'key_hokzbivfo4famY88'),
	(3, 'key_hokzbivplbnTriPy'),
	(4, 'key_hokzbivvivI1GFm8'),
	(5, 'key_hokzbiw2vl0F2ykU'),
	(6, 'key_hokzbiwd12N7b2h9'),
	(7, 'key_hokzbiwm78SGSwDn'),
	(8, 'key_hokzbiwuiz6HyYhs'),
	(9, 'key_hokzbix2isvHwlLm'),
	(10, 'key_hokzbix82bDDsMEg'),
	(11, 'key_hokzbixdstQ8f2Jw'),
	(12, 'key_hokzbixjmsgZMAJs'),
	(13, 'key_hokzbixos6JglzEA'),
	(14, 'key_hokzbixursT5yisP'),
	(15, 'key_hokzbiya2xq9VrSm'),
	(16, 'key_hokzbiya2xq9VrSm'),
	(17, 'key_hokzbix2isvHwlLm'),
	(18, 'key_hokzbix82bDDsMEg'),
	(19, 'key_hokzbiwuiz6HyYhs'),
	(20, 'key_hokzbiv8ljs0xl25'),
	(21, 'key_hokzbiv8ljs0xl25'),
	(22, 'key_hokzbj9zisXCB1gh'),
	(23, 'key_hokzbixursT5yisP'),
	(24, 'key_hokzbixursT5yisP'),
	(25, 'key_hokzbixos6JglzEA');
INSERT INTO public.key_route_usage VALUES
	('hour', 1795773600, '*', 'GET /v1/categories', 7, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, '*', 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, '*', 'GET /v1/pets', 0, 1, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, '*', 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, '*', 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, '*', 'POST /v1/categories', 5, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, '*', 'POST /v1/pets', 3, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, 'key_hokzbiv8ljs0xl25', 'GET /v1/categories', 1, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, 'key_hokzbivfo4famY88', 'GET /v1/categories', 1, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, 'key_hokzbivfo4famY88', 'GET /v1/categories/{categoryId}', 0, 1, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, 'key_hokzbivfo4famY88', 'PATCH /v1/inventory/{petId}', 1, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, 'key_hokzbivfo4famY88', 'PATCH /v1/pets/{petId}', 1, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, 'key_hokzbivplbnTriPy', 'POST /v1/categories', 5, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, 'key_hokzbivplbnTriPy', 'POST /v1/pets', 3, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, 'key_hokzbivvivI1GFm8', 'GET /v1/categories', 1, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, 'key_hokzbiw2vl0F2ykU', 'GET /v1/pets', 0, 1, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, 'key_hokzbiwm78SGSwDn', 'GET /v1/categories', 1, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, 'key_hokzbiwuiz6HyYhs', 'GET /v1/categories', 1, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, 'key_hokzbix2isvHwlLm', 'GET /v1/categories', 1, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795773600, 'key_hokzbix82bDDsMEg', 'GET /v1/categories', 1, 0, 0, 0, 1795776468, 1795776468),
	('hour', 1795860000, '*', 'GET /v1/categories', 2, 0, 4, 0, 1795862868, 1795862870),
	('hour', 1795860000, 'key_hokzbiya2xq9VrSm', 'GET /v1/categories', 2, 0, 4, 0, 1795862868, 1795862870),
	('hour', 1795867200, '*', 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 1795870130, 1795870130),
	('hour', 1795867200, '*', 'GET /v1/categories', 12, 0, 9, 0, 1795870130, 1795870139),
	('hour', 1795867200, '*', 'GET /v1/inventory', 1, 0, 0, 0, 1795870139, 1795870139),
	('hour', 1795867200, '*', 'GET /v1/pets', 1, 0, 0, 0, 1795870139, 1795870139),
	('hour', 1795867200, '*', 'GET /v1/rate_limit', 6, 0, 0, 0, 1795870139, 1795870139),
	('hour', 1795867200, '*', 'GET /v1/store/orders', 1, 0, 0, 0, 1795870139, 1795870139),
	('hour', 1795867200, '*', 'POST /v1/categories', 2, 0, 0, 0, 1795870130, 1795870130),
	('hour', 1795867200, '*', 'POST /v1/pets', 1, 0, 0, 0, 1795870130, 1795870130),
	('hour', 1795867200, '*', 'POST /v1/store/orders', 3, 0, 0, 0, 1795870130, 1795870130),
	('hour', 1795867200, 'key_hokzbiv8ljs0xl25', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795870139, 1795870139),
	('hour', 1795867200, 'key_hokzbivplbnTriPy', 'DELETE /v1/store/orders/{orderId}', 1, 0, 0, 0, 1795870130, 1795870130),
	('hour', 1795867200, 'key_hokzbivplbnTriPy', 'GET /v1/categories', 3, 0, 0, 0, 1795870130, 1795870139),
	('hour', 1795867200, 'key_hokzbivplbnTriPy', 'GET /v1/inventory', 1, 0, 0, 0, 1795870139, 1795870139),
	('hour', 1795867200, 'key_hokzbivplbnTriPy', 'GET /v1/pets', 1, 0, 0, 0, 1795870139, 1795870139),
	('hour', 1795867200, 'key_hokzbivplbnTriPy', 'GET /v1/store/orders', 1, 0, 0, 0, 1795870139, 1795870139),
	('hour', 1795867200, 'key_hokzbivplbnTriPy', 'POST /v1/categories', 2, 0, 0, 0, 1795870130, 1795870130),
	('hour', 1795867200, 'key_hokzbivplbnTriPy', 'POST /v1/pets', 1, 0, 0, 0, 1795870130, 1795870130),
	('hour', 1795867200, 'key_hokzbivplbnTriPy', 'POST /v1/store/orders', 3, 0, 0, 0, 1795870130, 1795870130),
	('hour', 1795867200, 'key_hokzbixdstQ8f2Jw', 'GET /v1/categories', 3, 0, 0, 0, 1795870134, 1795870134),
	('hour', 1795867200, 'key_hokzbixdstQ8f2Jw', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795870139, 1795870139),
	('hour', 1795867200, 'key_hokzbixjmsgZMAJs', 'GET /v1/categories', 2, 0, 1, 0, 1795870134, 1795870134),
	('hour', 1795867200, 'key_hokzbixjmsgZMAJs', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795870139, 1795870139),
	('hour', 1795867200, 'key_hokzbixos6JglzEA', 'GET /v1/categories', 2, 0, 4, 0, 1795870132, 1795870134),
	('hour', 1795867200, 'key_hokzbixos6JglzEA', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795870139, 1795870139),
	('hour', 1795867200, 'key_hokzbixursT5yisP', 'GET /v1/categories', 2, 0, 4, 0, 1795870130, 1795870132),
	('hour', 1795867200, 'key_hokzbixursT5yisP', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795870139, 1795870139),
	('hour', 1795867200, 'key_hokzbiya2xq9VrSm', 'GET /v1/rate_limit', 1, 0, 0, 0, 1795870139, 1795870139);
INSERT INTO public.kysely_migration VALUES
	('001-categories-keys-limits', '2026-11-28T12:47:48.572Z'),
	('002-pets-orders-outcomes', '2026-11-28T12:47:48.572Z'),
	('003-usage-audit-sessions', '2026-11-28T12:47:48.572Z'),
	('004-row-checksums', '2026-11-28T12:47:48.572Z'),
	('005-session-last-seen', '2026-11-28T12:47:48.572Z'),
	('006-catalog-bytes', '2026-11-28T12:47:48.572Z'),
	('007-category-changes', '2026-11-28T12:47:48.572Z'),
	('008-attempts', '2026-11-28T12:47:48.572Z'),
	('009-filter-indexes', '2026-11-28T12:47:48.572Z'),
	('010-operators', '2026-11-28T12:47:48.572Z'),
	('011-rehearsal', '2026-11-28T12:47:48.572Z'),
	('012-route-usage', '2026-11-28T12:47:48.572Z'),
	('013-rehearsal-turns', '2026-11-28T12:47:48.572Z'),
	('014-outcomes-bans-usage@0.2.0', '2026-11-28T12:47:48.572Z'),
	('015-pauses-users', '2026-11-28T12:47:48.572Z'),
	('017-database-properties', '2026-11-28T12:47:48.572Z'),
	('018-resets', '2026-11-28T12:47:48.572Z'),
	('019-changes', '2026-11-28T12:47:48.572Z');
INSERT INTO public.last_ids VALUES
	('pets', 4),
	('orders', 3),
	('audit_entries', 34);
INSERT INTO public.operator_tokens VALUES
	('op_hokzbiuvv0BRlNc7', '604-W2CBPhoNPr0WoTs2Yhuu3KdDE9pTG_28Bydw0Cc', 'billing', 'petcat_op_1fumqK', 'admin', 1795776468, NULL, NULL),
	('op_hokzbiv1rhKTrFC3', '5pAtiD2szXWx_yAbM0cFjSsvWtWJvXT60jS4D3GDHNE', 'dashboards', 'petcat_op_aNCAdZ', 'viewer', 1795776468, NULL, NULL),
	('op_hokzbj4ai7jvto7A', 'ZjNgrIlxbQAPvQ20jLS-HGSZ9xliWoP1JOp-z9651xE', 'support', 'petcat_op_cRFCVg', 'keys', 1795870070, NULL, NULL),
	('op_hokzbj4ravXWI61i', 'Ix8i7sOQSoNyq1yFLTamUDSGtAhqqAiUB3wYOGCE4RM', 'contractor', 'petcat_op_tPn5Pf', 'admin', 1795870070, 1795870071, NULL),
	('op_hokzbj57xmOeqpkU', 'XQR3ZyaQ5wApXgOYvfcNHsZ_sFarphQxqRMITBpLYq8', 'leaver', 'petcat_op_i6Cymb', 'admin', 1795870070, NULL, 1795870070);
INSERT INTO public.orders VALUES
	(1, 1, 2, '2099-12-31T12:00:00Z', 1795870130, 'key_hokzbivplbnTriPy', NULL),
	(2, 1, 1, NULL, 1795870130, 'key_hokzbivplbnTriPy', NULL);
INSERT INTO public.outcomes VALUES
	('key_hokzbivplbnTriPy', 'ObnxTnS5LYY2UN5RizdCm1y0hJPTVMOF_kwqYOWMv0Q', '7Xp8K2Tkxb9xvL2vUUqYcn7Xu7YXvBKOAe00k91LHrI', '{"id":5,"name":"Fish","description":"quiet"}', 1795776468),
	('', 'z8dPhah7wgPWhBWX3BoI1s_QbQRidEWUtGKBs3RpDVs', '', '', 1795862870),
	('', 'nEZqMT_98aIehmpY5zW2iJ0b02kqnTUwjZjq7lWIDjg', '', '', 1795862870),
	('', 'CHVLpBgygqSBOt0L0PCB-fpQ6DNeQGQgHvFHY1TprZ8', '', '', 1795862870),
	('', 'yu3ytJ1H0Po11BNoj6TbWt3d9dW95GGhVp8kAlLiMYk', '', '', 1795862870),
	('key_hokzbivplbnTriPy', 'rHfr2zOxCiqXXJsUKyl35MGzulVlooWi-K_Wxhv3WSM', 'MjWWtUU4UmPQ64paiHry_3YZFn8wCuwOg3kgGzVkAro', '{"id":6,"name":"Horse","description":"needs a field"}', 1795870130),
	('key_hokzbivplbnTriPy', 'cIf0lSp2fnftCEsEBZmPidGFaoo07xAIcMGIeHN-kxE', '8_4mpO9vl_lOME_tzTLgky_A-xRd1DrU79hUqIIEiDA', '{"id":4,"name":"Polly","categoryId":4,"status":"available"}', 1795870130),
	('key_hokzbivplbnTriPy', 'JTUCIy6OhufraM60SNNlhd6IxAHLDE4Bj8TbEtisB0c', '29EVmU7XZOdaaeZg0qFixTRznRj0Ufhyt_TE_mDf-nA', '{"id":1,"petId":1,"quantity":2,"shipDate":"2099-12-31T12:00:00Z","complete":false}', 1795870130),
	('', 'BKuUfzM0146fML0XWO5RuwmWCU5ahqFXHMEP2N6tJ2I', '', '', 1795870139),
	('', 'zERoO55TKOOXPl9aXcHhijH31YrXAVvU1AVWOpz1_Nk', '', '', 1795870139);
INSERT INTO public.pets VALUES
	(2, 'Minka', 2, 'pending', 1, 1795776468, 'key_hokzbivplbnTriPy', NULL),
	(3, 'Bella', 1, 'sold', 0, 1795776468, 'key_hokzbivplbnTriPy', NULL),
	(4, 'Polly', 4, 'available', 1, 1795870130, 'key_hokzbivplbnTriPy', NULL),
	(1, 'Rex II', 1, 'available', 7, 1795776468, 'key_hokzbivplbnTriPy', NULL);
INSERT INTO public.usage VALUES
	('minute', 1795776420, '*', 17, 2, 0, 0, 1795776468, 1795776468),
	('minute', 1795776420, 'key_hokzbiv8ljs0xl25', 1, 0, 0, 0, 1795776468, 1795776468),
	('minute', 1795776420, 'key_hokzbivfo4famY88', 3, 1, 0, 0, 1795776468, 1795776468),
	('minute', 1795776420, 'key_hokzbivplbnTriPy', 8, 0, 0, 0, 1795776468, 1795776468),
	('minute', 1795776420, 'key_hokzbivvivI1GFm8', 1, 0, 0, 0, 1795776468, 1795776468),
	('minute', 1795776420, 'key_hokzbiw2vl0F2ykU', 0, 1, 0, 0, 1795776468, 1795776468),
	('minute', 1795776420, 'key_hokzbiwm78SGSwDn', 1, 0, 0, 0, 1795776468, 1795776468),
	('minute', 1795776420, 'key_hokzbiwuiz6HyYhs', 1, 0, 0, 0, 1795776468, 1795776468),
	('minute', 1795776420, 'key_hokzbix2isvHwlLm', 1, 0, 0, 0, 1795776468, 1795776468),
	('minute', 1795776420, 'key_hokzbix82bDDsMEg', 1, 0, 0, 0, 1795776468, 1795776468),
	('minute', 1795862820, '*', 2, 0, 4, 0, 1795862868, 1795862870),
	('minute', 1795862820, 'key_hokzbiya2xq9VrSm', 2, 0, 4, 0, 1795862868, 1795862870),
	('minute', 1795870080, '*', 28, 0, 9, 0, 1795870130, 1795870139),
	('minute', 1795870080, 'key_hokzbiv8ljs0xl25', 1, 0, 0, 0, 1795870139, 1795870139),
	('minute', 1795870080, 'key_hokzbivplbnTriPy', 13, 0, 0, 0, 1795870130, 1795870139),
	('minute', 1795870080, 'key_hokzbixdstQ8f2Jw', 4, 0, 0, 0, 1795870134, 1795870139),
	('minute', 1795870080, 'key_hokzbixjmsgZMAJs', 3, 0, 1, 0, 1795870134, 1795870139),
	('minute', 1795870080, 'key_hokzbixos6JglzEA', 3, 0, 4, 0, 1795870132, 1795870139),
	('minute', 1795870080, 'key_hokzbixursT5yisP', 3, 0, 4, 0, 1795870130, 1795870139),
	('minute', 1795870080, 'key_hokzbiya2xq9VrSm', 1, 0, 0, 0, 1795870139, 1795870139);
INSERT INTO public.window_counts VALUES
	('key_hokzbiv8ljs0xl25', 1795776528, 1, 20784, 1, 0, 0),
	('key_hokzbivfo4famY88', 1795776528, 4, 20784, 4, 0, 0),
	('key_hokzbivvivI1GFm8', 1795776528, 1, 20784, 1, 0, 0),
	('key_hokzbiw2vl0F2ykU', 1795776528, 1, 20784, 1, 0, 0),
	('key_hokzbiwm78SGSwDn', 1795776528, 1, 20784, 1, 0, 0),
	('key_hokzbiwuiz6HyYhs', 1795776528, 1, 20784, 1, 0, 0),
	('key_hokzbix2isvHwlLm', 1795776528, 1, 20784, 1, 0, 0),
	('key_hokzbix82bDDsMEg', 1795776528, 1, 20784, 1, 0, 0),
	('key_hokzbiya2xq9VrSm', 1795862928, 2, 20785, 2, 0, 0),
	('key_hokzbivplbnTriPy', 1795870190, 13, 20785, 13, 0, 0),
	('key_hokzbixdstQ8f2Jw', 1795870194, 3, 20785, 3, 0, 0),
	('key_hokzbixjmsgZMAJs', 1795870194, 2, 20785, 2, 0, 0),
	('key_hokzbixos6JglzEA', 1795870192, 2, 20785, 2, 0, 0),
	('key_hokzbixursT5yisP', 1795870190, 2, 20785, 2, 0, 0);
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
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.console_logins
    ADD CONSTRAINT console_logins_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.console_sessions
    ADD CONSTRAINT console_sessions_id_key UNIQUE (id);
ALTER TABLE ONLY public.console_sessions
    ADD CONSTRAINT console_sessions_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.outcomes
    ADD CONSTRAINT create_outcomes_by_key PRIMARY KEY (key_id, idempotency_key);
ALTER TABLE ONLY public.database_properties
    ADD CONSTRAINT database_properties_pkey PRIMARY KEY (name);
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
CREATE INDEX changes_by_age ON public.changes USING btree (((at + 0)), id);
CREATE INDEX changes_by_idempotency_key ON public.changes USING btree (idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX changes_by_key ON public.changes USING btree (key_id, at, id);
CREATE INDEX changes_by_request ON public.changes USING btree (request_id);
CREATE INDEX changes_by_target ON public.changes USING btree (kind, target, at, id);
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
    ADD CONSTRAINT bans_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pet_id_fkey FOREIGN KEY (pet_id) REFERENCES public.pets(id);
ALTER TABLE ONLY public.pets
    ADD CONSTRAINT pets_category_id_fkey FOREIGN KEY (category_id) REFERENCES public.categories(id);
ALTER TABLE ONLY public.window_counts
    ADD CONSTRAINT window_counts_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id);
