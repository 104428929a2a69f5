-- The number of virtual shards of a hash map can change from one version to the next.

alter table shardwright.map_version add buckets integer not null default 0;
-- The versions so far have the number of their map.
alter table shardwright.map_version disable trigger user;
update shardwright.map_version v set buckets = m.buckets from shardwright.map m where m.name = v.map;
alter table shardwright.map_version enable trigger user;
comment on column shardwright.map_version.buckets is 'virtual shards in this version; 0 for a map without them';
comment on column shardwright.map.buckets is 'virtual shards of the version in force of a hash map, a power of two; 0 for the others';

create function shardwright.set_version_buckets() returns trigger
    language plpgsql set search_path = pg_catalog
    as $$
begin
    new.buckets := (select m.buckets from shardwright.map m where m.name = new.map);
    return new;
end
$$;
create trigger set_buckets before insert on shardwright.map_version
    for each row execute function shardwright.set_version_buckets();
