//! Queries for code that runs with a write or with a change of a definition: triggers, rules, event triggers.

use plans::fix::FixStage;

use super::DoctorQuery;

/// Queries that do not depend on tables.
pub(super) const SERVER_QUERIES: &[DoctorQuery] = &[DoctorQuery {
    code: "trigger.event",
    fix: None,
    sql: "
        select pg_catalog.format('event trigger %s', e.evtname),
               pg_catalog.format('it fires at %s, also for what a move creates and drops: guards, publications, the schema shardwright', e.evtevent),
               pg_catalog.format('alter event trigger %I disable for the time of the move, or make sure that it accepts these statements', e.evtname)
        from pg_catalog.pg_event_trigger e
        where e.evtenabled <> 'D' and not pg_catalog.starts_with(e.evtname::text, 'shardwright_')
          and not exists (select from pg_catalog.pg_depend d
                          where d.classid = 'pg_catalog.pg_event_trigger'::pg_catalog.regclass and d.objid = e.oid and d.deptype = 'e')
        order by e.evtname",
}];

/// Queries on the moving tables. A trigger that is enabled as replica does not fire for the application's writes, so
/// the remedy disables it.
pub(super) const TABLE_QUERIES: &[DoctorQuery] = &[
    DoctorQuery {
        code: "trigger.always",
        fix: Some(FixStage::Others),
        sql: "
            select pg_catalog.format('trigger %s of %s', g.tgname, t.label),
                   pg_catalog.format('it fires for replicated changes too (enable %s), so its effect would occur a second time on the target',
                                     case g.tgenabled when 'A' then 'always' else 'replica' end),
                   pg_catalog.format('alter table %s %s trigger %I', t.sql, case g.tgenabled when 'A' then 'enable' else 'disable' end, g.tgname)
            from t join pg_catalog.pg_trigger g on g.tgrelid = t.oid
            join pg_catalog.pg_proc p on p.oid = g.tgfoid
            where g.tgenabled in ('A', 'R') and not g.tgisinternal
              and p.pronamespace is distinct from pg_catalog.to_regnamespace('shardwright')
            order by 1",
    },
    DoctorQuery {
        code: "rule.always",
        fix: Some(FixStage::Others),
        sql: "
            select pg_catalog.format('rule %s of %s', r.rulename, t.label),
                   pg_catalog.format('it rewrites replicated changes too (enable %s), so the target would get other changes',
                                     case r.ev_enabled when 'A' then 'always' else 'replica' end),
                   pg_catalog.format('alter table %s %s rule %I', t.sql, case r.ev_enabled when 'A' then 'enable' else 'disable' end, r.rulename)
            from t join pg_catalog.pg_rewrite r on r.ev_class = t.oid
            where r.ev_enabled in ('A', 'R')
            order by 1",
    },
];
