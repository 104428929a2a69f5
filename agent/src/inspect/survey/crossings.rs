//! Foreign keys among sharded tables whose rows need not have one key: what refers across would be torn apart.
//!
//! Order: what the definitions prove, then one query over all the others.
//! Absent: foreign keys that lead to tables that stay; those are `foreign_keys`'.

use std::collections::BTreeMap;

use connect::Connected;
use plans::key_set::KeySet;
use plans::sql::quote_ident;
use plans::table::{TableKey, TableName};
use tokio_postgres::error::SqlState;

use super::super::keys::expressions;
use super::tables::ListedTables;
use super::target::named;
use crate::error::{StepError, WithIntent};
use crate::inspect::findings::Findings;
use crate::postgres::catalog::ForeignKey;

/// Seconds that looking for such rows may take where no move is planned.
const LIMIT_S: u32 = 5;

/// A foreign key between two sharded tables, with how each is tied to the shard key.
struct CrossingReference<'a> {
    reference: &'a ForeignKey,
    from: &'a TableKey,
    to: &'a TableKey,
}

/// Refuses foreign keys by which rows of two sides refer to each other, and names all that allow it in one note.
///
/// The sides are the moving keys and those that stay; without a `cut` each key is a side of its own, and where looking
/// takes long it is left.
pub(super) async fn check(
    client: &Connected,
    listed: &ListedTables,
    references: &[ForeignKey],
    cut: Option<&KeySet>,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    let fit = listed
        .moving
        .iter()
        .filter(|table| table.key != TableKey::Reference && !listed.unfit.contains(&table.table));
    let keys: BTreeMap<&TableName, &TableKey> =
        fit.map(|table| (table.top(), &table.key)).collect();
    let loose: Vec<CrossingReference<'_>> = references
        .iter()
        .filter_map(|reference| {
            let (from, to) = (*keys.get(&reference.from)?, *keys.get(&reference.to)?);
            let crossing = CrossingReference {
                reference,
                from,
                to,
            };
            (!crossing.keeps_together()).then_some(crossing)
        })
        .collect();
    if loose.is_empty() {
        return Ok(());
    }
    let looks: Vec<String> = loose.iter().map(|crossing| crossing.crosses(cut)).collect();
    let crossed = look(client, &looks, cut.is_none()).await.at(format_args!(
        "shard {shard}: looking for rows that refer to rows of another key"
    ))?;
    let across = |at: usize| crossed.as_ref().is_some_and(|crossed| crossed[at]);
    let (torn, whole): (Vec<usize>, Vec<usize>) = (0..loose.len()).partition(|at| across(*at));
    for at in torn {
        loose[at].tell(cut.is_some(), shard, findings);
    }
    if whole.is_empty() {
        return Ok(());
    }
    let mut names: Vec<String> = whole.iter().map(|at| loose[*at].name()).collect();
    names.sort();
    let seen = match crossed {
        Some(_) => "no row refers to one of another key now".to_owned(),
        None => format!("whether a row does was not found out within {LIMIT_S} s"),
    };
    findings.add(
        "foreign_key.loose",
        format!("shard {shard}, foreign keys {}", named(&names)),
        format!("they do not say that a row has the key of the one that it refers to; {seen}"),
        "add the columns of the key to them, or make sure that the application never refers across",
    );
    Ok(())
}

/// Asks all at once; none when that is `limited` and takes too long.
async fn look(
    client: &Connected,
    looks: &[String],
    limited: bool,
) -> Result<Option<Vec<bool>>, tokio_postgres::Error> {
    if limited {
        let limit = format!("set statement_timeout = '{LIMIT_S}s'");
        client.batch_execute(&limit).await?;
    }
    let asked = client
        .query_one(&format!("select array[{}]", looks.join(", ")), &[])
        .await;
    if limited {
        client.batch_execute("reset statement_timeout").await?;
    }
    match asked {
        Ok(row) => Ok(Some(row.get(0))),
        Err(error) if limited && error.code() == Some(&SqlState::QUERY_CANCELED) => Ok(None),
        Err(error) => Err(error),
    }
}

impl CrossingReference<'_> {
    /// Whether the definitions alone say that a row and the one that it refers to have the same key.
    fn keeps_together(&self) -> bool {
        let pairs = &self.reference.columns;
        let equal = |own: &str, theirs: &str| pairs.iter().any(|(a, b)| a == own && b == theirs);
        match (self.from, self.to) {
            (TableKey::Columns(from), TableKey::Columns(to)) => {
                from.len() == to.len() && from.iter().zip(to).all(|(a, b)| equal(&a.name, &b.name))
            }
            // The very reference by which the row belongs to that one.
            (TableKey::Through(from), _) if from.parent == self.reference.to => {
                from.columns.iter().all(|(own, theirs)| equal(own, theirs))
            }
            // Both belong to the same row of a third table.
            (TableKey::Through(from), TableKey::Through(to)) => {
                from.parent == to.parent
                    && from.columns.len() == to.columns.len()
                    && from.columns.iter().all(|(own, parent)| {
                        let mut others = to.columns.iter();
                        others.any(|(theirs, same)| same == parent && equal(own, theirs))
                    })
            }
            (TableKey::Columns(_) | TableKey::Through(_) | TableKey::Reference, _) => false,
        }
    }

    /// Whether some row refers to one of another side, as an SQL expression.
    fn crosses(&self, cut: Option<&KeySet>) -> String {
        let reference = self.reference;
        let joined: Vec<String> = reference
            .columns
            .iter()
            .map(|(own, theirs)| format!("f.{} = t.{}", quote_ident(own), quote_ident(theirs)))
            .collect();
        let sides = |key: &TableKey, row: &str| match cut {
            Some(keys) => format!("({} is true)", key.predicate(keys, row)),
            None => format!("row({})", expressions(key, row).join(", ")),
        };
        format!(
            "exists (select from {} f join {} t on {} where {} <> {})",
            reference.from.sql(),
            reference.to.sql(),
            joined.join(" and "),
            sides(self.from, "f"),
            sides(self.to, "t"),
        )
    }

    fn name(&self) -> String {
        format!("{} of {}", self.reference.name, self.reference.from)
    }

    /// Tells of rows that refer to rows of another side: they are in the way of a move, or would be in that of some.
    fn tell(&self, moves: bool, shard: &str, findings: &mut Findings) {
        let ForeignKey { name, from, to, .. } = self.reference;
        let object = format!("shard {shard}, foreign key {}", self.name());
        let remedy = format!(
            "alter table {} drop constraint {}, or give both rows the same key",
            from.sql(),
            quote_ident(name)
        );
        if moves {
            let problem = format!(
                "rows of {from} refer to rows of {to} that have another key, and only one side of them moves"
            );
            findings.refuse("foreign_key.across", object, problem, remedy);
        } else {
            let problem = format!(
                "rows of {from} refer to rows of {to} that have another key; a move that parts these keys is refused"
            );
            findings.add("foreign_key.mixed", object, problem, remedy);
        }
    }
}
