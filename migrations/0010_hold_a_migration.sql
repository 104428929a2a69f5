-- A cutover asks for this while writes are refused: one round trip, and nothing is read again that has not changed.
-- Each statement of the function sees what was committed before the one ahead of it had its lock.

create function shardwright.hold(
    mine bigint, who text, which text,
    out revision bigint, out written text, out version bigint, out made timestamptz)
    language plpgsql
    as $$
declare
    its_map text;
begin
    perform shardwright.prove_term(mine, who);
    select m.map, m.revision, m.xmin::text into its_map, revision, written
        from shardwright.migration m where m.id = which for no key update;
    perform from shardwright.map m where m.name = its_map for update;
    select v.version, v.created_at into version, made
        from shardwright.map_version v where v.map = its_map order by v.version desc limit 1;
end
$$;
comment on function shardwright.hold is
    'under this term, locks a migration and its map until the transaction ends, and tells how they stand; null: no such migration';
