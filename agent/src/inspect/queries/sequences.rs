//! Queries for sequences that supply values for columns of the moving tables.

use plans::fix::FixStage;

use super::DoctorQuery;

/// Adds two tables to a query: `q`, the columns with the sequence from which each draws, by identity or by default, and
/// the column's type; and `s`, the same with the properties of the sequence.
macro_rules! with_sequences {
    ($sql:literal) => {
        concat!(
            ", q as (
                select d.objid as seq, t.label || '.' || a.attname as col, a.atttypid
                from t
                join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.refobjid = t.oid
                                           and d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.deptype = 'i'
                join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
                union
                select d.refobjid, t.label || '.' || a.attname, a.atttypid
                from t
                join pg_catalog.pg_attrdef x on x.adrelid = t.oid
                join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum = x.adnum
                join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass and d.objid = x.oid
                                           and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
                where not t.relispartition),
               s as (
                select q.*, c.relname, n.nspname, pg_catalog.format('sequence %s.%s', n.nspname, c.relname) as label,
                       pg_catalog.format('%I.%I', n.nspname, c.relname) as sql, p.seqincrement, p.seqcycle,
                       least(p.seqmax, case q.atttypid when 'pg_catalog.int2'::pg_catalog.regtype then 32767
                                                       when 'pg_catalog.int4'::pg_catalog.regtype then 2147483647
                                                       else p.seqmax end) as most,
                       case when pg_catalog.has_sequence_privilege(c.oid, 'usage, select')
                            then pg_catalog.pg_sequence_last_value(c.oid) end as last
                from q
                join pg_catalog.pg_class c on c.oid = q.seq and c.relkind = 'S'
                join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                join pg_catalog.pg_sequence p on p.seqrelid = c.oid) ",
            $sql
        )
    };
}

/// Queries on the moving tables.
pub(super) const TABLE_QUERIES: &[DoctorQuery] = &[
    DoctorQuery {
        code: "sequence.shared",
        fix: None,
        sql: with_sequences!(
            "select label, pg_catalog.format('%s columns draw from it: %s', count(distinct col), pg_catalog.string_agg(distinct col, ', ')),
                    'nothing, if their values need to differ on one shard only; else: shardwright map set MAP --sequences stride'
             from s group by label having count(distinct col) > 1 order by label"
        ),
    },
    DoctorQuery {
        code: "sequence.cycle",
        fix: Some(FixStage::Others),
        sql: with_sequences!(
            "select distinct label, 'it starts again after its last value, and then issues values that are on a shard already',
                    pg_catalog.format('alter sequence %s no cycle', sql)
             from s where seqcycle order by label"
        ),
    },
    DoctorQuery {
        code: "sequence.short",
        fix: None,
        sql: with_sequences!(
            "select label,
                    pg_catalog.format('its last value is %s, and the greatest value of %s is %s; with `sequences: stride` it increases by 64', last, col, most),
                    pg_catalog.format('alter table ... alter column ... type bigint; alter sequence %s as bigint', sql)
             from s where last > most / 10 * 8 order by label, col"
        ),
    },
];

/// Queries on the moving tables, for maps with `sequences: stride`.
pub(super) const STRIDE_QUERIES: &[DoctorQuery] = &[DoctorQuery {
    code: "sequence.step",
    fix: None,
    sql: with_sequences!(
        "select distinct label,
                pg_catalog.format('its increment is %s, with which `sequences: stride` does not work: two shards may issue the same value', seqincrement),
                pg_catalog.format('shardwright map set MAP --sequences block, which needs bigint; or, where nothing reserves ranges of values by the step: alter sequence %s increment by 1', sql)
         from s where seqincrement not in (1, 64) order by label"
    ),
}];
