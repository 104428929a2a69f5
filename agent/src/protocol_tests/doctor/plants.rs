//! Defects of a single database.

use plans::key::KeyType;

use super::{Plant, plant};

pub(super) fn all() -> Vec<Plant> {
    [
        tables(),
        keys(),
        definitions(),
        sequences(),
        types(),
        others(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn tables() -> Vec<Plant> {
    vec![
        plant("server.collation_version", "create collation aged (provider = icu, locale = 'en', version = '1'); alter table good add name text collate aged").fixed_by("reindex table good; alter collation aged refresh version"),
        plant("table.missing", "").settings(r#"{"tables": {"good": "tenant_id", "app.lost": "tenant_id"}}"#).listed_anew(super::SETTINGS),
        plant("table.unlisted", "create table other (id int primary key)").listed_anew(r#"{"tables": {"good": "tenant_id"}, "ignore": ["other"]}"#),
        plant("schema.taken", "create schema if not exists shardwright; create view shardwright.other as select 1 as one")
            .fixed_by("alter view shardwright.other set schema public"),
        plant("table.partition", "create table whole (tenant_id bigint, id bigint, primary key (tenant_id, id)) partition by hash (tenant_id); \
            create table part partition of whole for values with (modulus 1, remainder 0)")
            .settings(r#"{"tables": {"good": "tenant_id", "part": "tenant_id"}, "ignore": ["whole"]}"#).listed_anew(r#"{"tables": {"good": "tenant_id", "whole": "tenant_id"}}"#),
        plant("table.no_partition", "create table whole (tenant_id bigint, id bigint, primary key (tenant_id, id)) partition by hash (tenant_id)")
            .settings(r#"{"tables": {"good": "tenant_id", "whole": "tenant_id"}}"#).fixed_by("create table part partition of whole for values with (modulus 1, remainder 0)"),
        plant("table.foreign", "create extension postgres_fdw; create server far foreign data wrapper postgres_fdw; \
            create foreign table away (tenant_id bigint not null, id bigint) server far")
            .settings(r#"{"tables": {"good": "tenant_id", "away": "tenant_id"}}"#).listed_anew(r#"{"tables": {"good": "tenant_id"}, "ignore": ["away"]}"#),
        plant("table.unlogged", "alter table good set unlogged").fixed_by("alter table good set logged"),
        plant("table.inherits", "create table child () inherits (good)").settings(r#"{"tables": {"good": "tenant_id"}, "ignore": ["child"]}"#).fixed_by("alter table child no inherit good"),
        plant("table.primary_key", "alter table good drop constraint good_pkey, alter tenant_id set not null").leads_to(&["table.whole_row"]),
        plant("table.deferrable", "alter table good drop constraint good_pkey, add primary key (tenant_id, id) deferrable").leads_to(&["table.whole_row"]),
        plant("table.identity", "alter table good replica identity nothing"),
        plant("table.whole_row", "alter table good drop constraint good_pkey, alter tenant_id set not null, replica identity full").fixed_by("alter table good add primary key (tenant_id, id)"),
        plant("table.access_method", "create access method other type table handler heap_tableam_handler; \
            alter table good set access method other").fixed_by("alter table good set access method heap"),
        plant("table.invalid_index", "create index broken on good (id); update pg_index set indisvalid = false where indexrelid = 'broken'::regclass"),
        plant("table.not_valid", "alter table good add check (id > 0) not valid"),
        plant("table.expression", "create function trimmed(text) returns text immutable language sql as 'select btrim($1)'; \
            create function lowered(text) returns text immutable language sql as 'select trimmed(lower($1))'; \
            alter table good add name text; create index named on good (lowered(name))"),
        plant("table.generated", "create function own(bigint) returns bigint immutable language sql as 'select $1'; \
            alter table good add made bigint generated always as (own(id)) stored").stays("only its author knows what a function depends on"),
    ]
}

fn keys() -> Vec<Plant> {
    vec![
        plant("key.untied", "").settings(r#"{"tables": {"good": ["tenant_id", "id"]}}"#).listed_anew(super::SETTINGS),
        plant("key.missing", "").settings(r#"{"tables": {"good": "tenant"}}"#).listed_anew(super::SETTINGS),
        plant("key.type", "alter table good alter tenant_id type int").fixed_by("alter table public.good alter column tenant_id type bigint"),
        plant("key.null", "create table loose (tenant_id bigint, id bigint primary key); alter table loose replica identity full")
            .settings(r#"{"tables": {"good": "tenant_id", "loose": "tenant_id"}}"#),
        plant("key.identity", "alter table good drop constraint good_pkey, add primary key (id), alter tenant_id set not null"),
        plant("key.generated", "create table made (account bigint not null, tenant_id bigint generated always as (account) stored, id bigint, primary key (tenant_id, id))")
            .settings(r#"{"tables": {"good": "tenant_id", "made": "tenant_id"}}"#).fixed_by("alter table public.made alter column tenant_id drop expression"),
        plant("key.collation", "create collation alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false); \
            alter table good alter tenant_id type text collate alike")
            .key(KeyType::Text).fixed_by("alter table public.good alter column tenant_id type text collate \"C\""),
    ]
}

fn definitions() -> Vec<Plant> {
    const PARENT: &str = r#"{"tables": {"good": "tenant_id"}, "through": {"item": {"parent": "parent"}, "parent": {"parent": "good", "columns": {"good": "id"}}}}"#;
    vec![
        plant("foreign_key.leaves", "create table kind (id bigint primary key); alter table good add kind bigint references kind")
            .settings(r#"{"tables": {"good": "tenant_id"}, "ignore": ["kind"]}"#).listed_anew(r#"{"tables": {"good": "tenant_id"}, "reference": ["kind"]}"#),
        plant("foreign_key.reference", "create table best (id bigint, tenant_id bigint, good bigint, primary key (tenant_id, id), foreign key (tenant_id, good) references good)")
            .settings(r#"{"tables": {"good": "tenant_id"}, "reference": ["best"]}"#).listed_anew(r#"{"tables": {"good": "tenant_id", "best": "tenant_id"}}"#),
        plant("foreign_key.not_valid", "create table item (tenant_id bigint, id bigint, good bigint, primary key (tenant_id, id)); \
            alter table item add foreign key (tenant_id, good) references good not valid")
            .settings(r#"{"tables": {"good": "tenant_id", "item": "tenant_id"}}"#),
        plant("foreign_key.mixed", "create table item (tenant_id bigint, id bigint, owner bigint, good bigint, primary key (tenant_id, id), \
            foreign key (owner, good) references good); insert into good values (1, 1); insert into item values (2, 1, 1, 1)")
            .settings(r#"{"tables": {"good": "tenant_id", "item": "tenant_id"}}"#).fixed_by("alter table public.item drop constraint item_owner_good_fkey"),
        plant("through.online", "create table parent (id bigint primary key, good bigint)")
            .settings(r#"{"tables": {"good": "tenant_id"}, "through": {"parent": {"parent": "good", "columns": {"good": "id"}}}}"#).moves_offline(),
        plant("through.orphan", "create table parent (id bigint primary key, good bigint); create table item (id bigint primary key, parent bigint references parent); \
            insert into good values (1, 1); insert into parent values (1, 1); set session_replication_role = replica; insert into item values (1, 9)")
            .settings(PARENT)
            .offline(),
        plant("through.unkeyed", "create table parent (id bigint primary key, good bigint); create table item (id bigint primary key, parent bigint references parent); \
            insert into good values (1, 1); insert into parent values (1, 1); insert into item values (1, 1), (2, null)")
            .settings(PARENT)
            .offline().fixed_by("update item set parent = 1"),
    ]
}

fn sequences() -> Vec<Plant> {
    vec![
        plant(
            "sequence.shared",
            "create sequence common; alter table good alter id set default nextval('common'), add other bigint default nextval('common')",
        ).stays("the values of its columns may need to differ on one shard only"),
        plant(
            "sequence.cycle",
            "alter table good alter id add generated by default as identity (cycle)",
        ),
        plant(
            "sequence.step",
            "alter table good alter id add generated by default as identity (increment by 5)",
        ).listed_anew(r#"{"tables": {"good": "tenant_id"}, "sequences": "block"}"#),
        plant(
            "sequence.short",
            "alter table good add small int generated by default as identity; select setval('good_small_seq', 2000000000)",
        ).fixed_by("alter table good alter small type bigint; alter sequence good_small_seq as bigint maxvalue 9223372036854775807"),
    ]
}

fn types() -> Vec<Plant> {
    vec![
        plant("type.reg", "alter table good add relation regclass")
            .fixed_by("alter table public.good alter column relation type text"),
        plant("type.transaction", "alter table good add writer xid")
            .fixed_by("alter table public.good alter column writer type text"),
        plant("type.internal", "alter table good add tree pg_node_tree")
            .fixed_by("alter table public.good alter column tree type text"),
        plant(
            "type.large_object",
            "create extension lo; alter table good add picture lo",
        )
        .fixed_by("alter table good drop picture, add picture bytea"),
        plant("type.oid", "alter table good add picture oid").stays("an oid may stand for itself"),
        plant("type.position", "alter table good add seen pg_lsn")
            .stays("a position may be kept and never compared"),
    ]
}

fn others() -> Vec<Plant> {
    const TRIGGER: &str = "create function touch() returns trigger language plpgsql as 'begin return new; end'; \
        create trigger touched before update on good for each row execute function touch(); alter table good enable always trigger touched";
    const UNTRUSTED: &str = "create role scribe; create function own(bigint) returns boolean immutable language sql as 'select true'; \
        alter function own owner to scribe; alter table good add check (own(id))";
    const EVENT: &str = "create function seen() returns event_trigger language plpgsql as 'begin end'; \
        create event trigger seen on ddl_command_end execute function seen()";
    vec![
        plant("trigger.always", TRIGGER),
        plant(
            "rule.always",
            "create rule quiet as on update to good do also select 1; alter table good enable always rule quiet",
        ),
        plant("trigger.event", EVENT).fixed_by("alter event trigger seen disable"),
        plant("code.untrusted", UNTRUSTED).fixed_by("alter function own owner to postgres"),
        plant(
            "publication.all_tables",
            "create publication everything for all tables",
        ).fixed_by("drop publication everything"),
        plant("publication.table", "create publication one for table good").stays("its subscribers may want the rows"),
        plant(
            "subscription.present",
            "create subscription inward connection 'dbname=nowhere' publication outward with (connect = false)",
        ).stays("it may write into other tables"),
        plant(
            "server.connections",
            "do $$ begin execute format('alter database %I connection limit 5', current_database()); end $$",
        ),
    ]
}
