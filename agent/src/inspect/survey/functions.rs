//! Finds the functions that need a search path, which the sessions of the agent do not have. Writes the statement that
//! gives a function its own search path.

use connect::Connected;
use plans::fix::{FixStage, FixStatement};
use plans::table::TableName;
use tokio_postgres::{Error, Row};

use crate::error::{StepError, WithIntent};

/// The second part of a query. The first part, [`CTE_OF_EXPRESSIONS`] or [`CTE_BY_NAME`], defines the common table
/// expression `f (oid)`, a list of functions. For those of the application that have no search path of their own, the
/// query returns the signature, and the schemas of the database's default search path, followed by the function's
/// schema.
const FUNCTIONS_WITHOUT_PATH: &str = "
    select distinct p.oid::pg_catalog.regprocedure::pg_catalog.text, (
      select pg_catalog.string_agg(pg_catalog.quote_ident(s.name), ', ' order by s.place)
      from (select d.name, min(d.place) as place
            from (select pg_catalog.btrim(e.name, ' \"'), e.place
                  from pg_catalog.string_to_table(coalesce(
                    (select pg_catalog.split_part(c.entry, '=', 2)
                     from pg_catalog.pg_db_role_setting r, pg_catalog.unnest(r.setconfig) c (entry)
                     where r.setrole = 0 and c.entry like 'search\\_path=%'
                       and r.setdatabase = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())),
                    'public'), ',') with ordinality e (name, place)
                  union all select n.nspname, 1000
                  union all select 'pg_temp', 1001) d (name, place)
            where d.name = 'pg_temp' or pg_catalog.to_regnamespace(pg_catalog.quote_ident(d.name)) is not null
            group by d.name) s)
    from f join pg_catalog.pg_proc p on p.oid = f.oid
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where n.nspname not in ('pg_catalog', 'information_schema', 'shardwright')
      and not exists (select from pg_catalog.unnest(p.proconfig) c (entry) where c.entry like 'search\\_path=%')
      and not exists (select from pg_catalog.pg_depend e
                      where e.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and e.objid = p.oid and e.deptype = 'e')
    order by 1";

/// The first part of a query: the functions that indexes and extended statistics of the table `$1` call.
const CTE_OF_EXPRESSIONS: &str = "
    with f (oid) as (
      select d.refobjid
      from pg_catalog.pg_depend d
      where d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass
        and (d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass
               and d.objid in (select i.indexrelid from pg_catalog.pg_index i where i.indrelid = pg_catalog.to_regclass($1))
             or d.classid = 'pg_catalog.pg_statistic_ext'::pg_catalog.regclass
               and d.objid in (select x.oid from pg_catalog.pg_statistic_ext x where x.stxrelid = pg_catalog.to_regclass($1))))";

/// The first part of a query: the function with the signature `$1`, or the only function with the name `$2`.
const CTE_BY_NAME: &str = "
    with f (oid) as (
      select pg_catalog.to_regprocedure($1)::pg_catalog.oid
      union
      select min(p.oid) from pg_catalog.pg_proc p where p.proname = $2 having count(*) = 1)";

/// A function as the context of a server error names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FunctionName {
    /// The schema, name and arguments.
    Signature(String),
    /// The name alone.
    Name(String),
}

impl FunctionName {
    /// Returns the outermost function in the context of an error: it called all others.
    pub(super) fn outermost(error: &Error) -> Option<Self> {
        let context = error.as_db_error()?.where_()?;
        context.lines().rev().find_map(Self::from_context_line)
    }

    fn from_context_line(line: &str) -> Option<Self> {
        if let Some(rest) = line.strip_prefix("PL/pgSQL function ") {
            let (signature, _) = rest.split_once(") ")?;
            return Some(Self::Signature(format!("{signature})")));
        }
        let (name, _) = line.strip_prefix("SQL function \"")?.split_once("\" ")?;
        Some(Self::Name(name.to_owned()))
    }
}

/// Returns the statements that give the functions in a table's indexes and statistics their own search paths.
pub(super) async fn path_statements_for_expressions(
    client: &Connected,
    table: &TableName,
) -> Result<Vec<FixStatement>, StepError> {
    let shard = client.name();
    let sql = format!("{CTE_OF_EXPRESSIONS} {FUNCTIONS_WITHOUT_PATH}");
    let rows = client.query(&sql, &[&table.sql()]).await;
    let rows = rows.at(format_args!(
        "shard {shard}: reading the functions of {table}"
    ))?;
    Ok(rows.iter().map(path_statement).collect())
}

/// Returns the statement that gives this function its own search path. Empty if the function has one, or if its name is
/// not unique.
pub(super) async fn path_statements_for_function(
    client: &Connected,
    function: &FunctionName,
) -> Result<Vec<FixStatement>, StepError> {
    let shard = client.name();
    let (signature, name) = match function {
        FunctionName::Signature(signature) => (Some(signature), None),
        FunctionName::Name(name) => (None, Some(name)),
    };
    let sql = format!("{CTE_BY_NAME} {FUNCTIONS_WITHOUT_PATH}");
    let rows = client.query(&sql, &[&signature, &name]).await;
    let rows = rows.at(format_args!("shard {shard}: reading a function"))?;
    Ok(rows.iter().map(path_statement).collect())
}

fn path_statement(row: &Row) -> FixStatement {
    let (signature, path): (String, String) = (row.get(0), row.get(1));
    let sql = format!("alter routine {signature} set search_path = {path}");
    FixStatement::new(FixStage::Functions, sql)
}

#[cfg(test)]
mod tests {
    use super::FunctionName;

    #[test]
    fn a_function_is_read_from_a_context_line() {
        let from_context_line = |line: &str| FunctionName::from_context_line(line);
        assert_eq!(
            from_context_line("PL/pgSQL function app.known(text,integer) line 3 at RETURN"),
            Some(FunctionName::Signature(
                "app.known(text,integer)".to_owned()
            ))
        );
        assert_eq!(
            from_context_line("SQL function \"known\" during inlining"),
            Some(FunctionName::Name("known".to_owned()))
        );
        assert_eq!(from_context_line("COPY orders, line 3"), None);
        assert_eq!(
            from_context_line("PL/pgSQL function inline_code_block line 1 at RAISE"),
            None
        );
    }
}
