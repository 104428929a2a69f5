//! The parts of tables that a shard has, by the labels of the entries that create them.

use std::collections::HashSet;

use connect::Connected;

use crate::error::{StepError, WithIntent};

const PARTS: &str = "
    select pg_catalog.concat('INDEX ', n.nspname, ' ', c.relname)
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('i', 'I')
    union all
    select pg_catalog.concat('STATISTICS ', n.nspname, ' ', e.stxname)
    from pg_catalog.pg_statistic_ext e join pg_catalog.pg_namespace n on n.oid = e.stxnamespace
    union all
    select pg_catalog.concat(part.kind, ' ', n.nspname, ' ', c.relname, ' ', part.name)
    from (
      select kind, k.conrelid, k.conname from pg_catalog.pg_constraint k
      cross join (values ('CONSTRAINT'), ('CHECK CONSTRAINT'), ('FK CONSTRAINT')) kinds (kind)
      union all select 'TRIGGER', g.tgrelid, g.tgname from pg_catalog.pg_trigger g where not g.tgisinternal
      union all select 'POLICY', p.polrelid, p.polname from pg_catalog.pg_policy p
      union all select 'RULE', r.ev_class, r.rulename from pg_catalog.pg_rewrite r
    ) part (kind, relation, name)
    join pg_catalog.pg_class c on c.oid = part.relation
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace";

/// Returns the labels of the parts that the shard has.
pub(crate) async fn labels(client: &Connected) -> Result<HashSet<String>, StepError> {
    let rows = client.query(PARTS, &[]).await.at(format_args!(
        "shard {}: reading parts of tables",
        client.name()
    ))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
