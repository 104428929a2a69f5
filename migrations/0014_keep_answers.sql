-- What was answered to orders that came with a key, so that one that comes again is not carried out again.

create table shardwright.keyed_order (
    key bytea primary key check (octet_length(key) = 32),
    fingerprint bytea not null check (octet_length(fingerprint) = 32),
    begun_at timestamptz not null,
    status smallint,
    kind text,
    body bytea,
    check ((status is null) = (kind is null) and (status is null) = (body is null))
);
create index keyed_order_begun on shardwright.keyed_order (begun_at);
comment on table shardwright.keyed_order is 'orders with an Idempotency-Key of the last 24 hours; without a status: it has begun, and maybe was not ended';
comment on column shardwright.keyed_order.key is 'SHA-256 of who gave the order and the key';
comment on column shardwright.keyed_order.fingerprint is 'SHA-256 of method, path and body';
create trigger led_only before insert or update or delete or truncate on shardwright.keyed_order
    for each statement execute function shardwright.refuse_without_term();
