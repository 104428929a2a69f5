//! Writes a `psql` script from the fixes of findings. The script contains each statement once, ordered by stage, and
//! runs it only in the correct database.
//!
//! The script first determines in which database it runs. Then it runs the statements, shard by shard and stage by
//! stage. Last it lists what it does not fix. If a statement fails, the script reports it and continues. If anything
//! was not done, the script ends with an error.

use crate::doctor::Finding;
use crate::failure::Severity;
use crate::fix::{FixStage, FixStatement};
use crate::id::ShardName;
use crate::identity::DatabaseIdentity;
use crate::sql::quote_literal;
use std::collections::BTreeSet;
use std::fmt::Write;

/// How long a statement waits for a lock. Statements that queue after it wait as long.
const LOCK_TIMEOUT: &str = "set lock_timeout = '5s';";
/// CREATE INDEX CONCURRENTLY waits for transactions, but no other statement queues after it.
const NO_LOCK_TIMEOUT: &str = "set lock_timeout = 0;";

/// A shard and the identity of its database.
#[derive(Debug, Clone, Copy)]
pub struct ShardDatabase<'a> {
    /// The name of the shard.
    pub shard: &'a ShardName,
    /// The identity by which the script recognises the database; `None`: it was never registered, and no script is
    /// written for it.
    pub identity: Option<&'a DatabaseIdentity>,
}

/// A script, and what it fixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// The text, for `psql -X -f`.
    pub text: String,
    /// The number of findings that are fixed when the script has run completely on each of its shards.
    pub covered: usize,
    /// The number of findings that only a deletion of rows fixes, if deletions were not requested.
    pub withheld: usize,
    /// The number of refusals and warnings that no statement fixes.
    pub left: usize,
}

/// Writes the script. It contains statements that delete rows only if `deletes` is true.
#[must_use]
pub fn script(places: &[ShardDatabase<'_>], findings: &[&Finding], deletes: bool) -> Script {
    let known: Vec<(&ShardName, &DatabaseIdentity, u32)> = places
        .iter()
        .filter_map(|place| {
            let identity = place.identity?;
            Some((place.shard, identity, identity.database?))
        })
        .collect();
    let script_part = |finding: &Finding| match &finding.fix {
        Some(fix) if known.iter().any(|(shard, ..)| *shard == &fix.shard) => {
            match deletes || fix.statements.iter().all(|s| s.stage != FixStage::Deletes) {
                true => ScriptPart::Covered,
                false => ScriptPart::Withheld,
            }
        }
        Some(_) | None => ScriptPart::Left,
    };
    let findings_of = |kind: ScriptPart| {
        findings
            .iter()
            .copied()
            .filter(move |finding| script_part(finding) == kind)
    };
    let covered: Vec<&Finding> = findings_of(ScriptPart::Covered).collect();
    let withheld: Vec<&Finding> = findings_of(ScriptPart::Withheld).collect();
    let left = findings_of(ScriptPart::Left).filter(|finding| finding.severity != Severity::Note);
    let left: Vec<&Finding> = left.collect();
    let mut text = String::new();
    if covered.is_empty() {
        text += "-- No statement fixes what shardwright doctor found.\n";
    } else {
        write_head(&mut text, &known);
        for (shard, ..) in &known {
            write_shard_section(&mut text, shard, &covered);
        }
        text += END;
    }
    let parts = [
        (
            &withheld,
            "Not included, because these statements delete rows; the option --deletes includes them",
        ),
        (
            &left,
            "No statement fixes these findings; fix them yourself",
        ),
    ];
    for (findings, title) in parts {
        write_not_fixed(&mut text, title, findings);
    }
    Script {
        text,
        covered: covered.len(),
        withheld: withheld.len(),
        left: left.len(),
    }
}

/// Whether the script fixes a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScriptPart {
    /// The script fixes it.
    Covered,
    /// Only a deletion of rows fixes it, and deletions were not requested.
    Withheld,
    /// No statement fixes it.
    Left,
}

/// The end of the script, which fails if anything was not done.
const END: &str = "
\\set ON_ERROR_STOP on
\\if :failed
do 'begin raise exception ''not everything was done: fix what was reported, and run the script again''; end';
\\endif
";

/// Writes the beginning of the script. It ends unless the database is that of one of the shards, and sets `shard` to
/// its name.
fn write_head(text: &mut String, places: &[(&ShardName, &DatabaseIdentity, u32)]) {
    let names: Vec<&str> = places.iter().map(|(shard, ..)| shard.as_str()).collect();
    let names = names.join(", ");
    let rows: Vec<String> = places
        .iter()
        .map(|(shard, identity, database)| {
            let (shard, system) = (quote_literal(shard.as_str()), &identity.system);
            format!("    ({shard}, {}, {database})", quote_literal(system))
        })
        .collect();
    *text += "-- Fixes what shardwright doctor found. Run it on each shard, as a role with the privileges for its statements:\n";
    *text += "--   psql -X -f FILE CONNECTION_STRING\n";
    *text += "-- It runs only the statements for the database in which it runs. It can be run again.\n\n";
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "\\set ON_ERROR_STOP on
select coalesce((select known.shard
  from (values
{}) known (shard, system, database)
  join pg_catalog.pg_database d on d.oid = known.database and d.datname = pg_catalog.current_database()
  join pg_catalog.pg_control_system() c on c.system_identifier::text = known.system), '') as shard \\gset
select :'shard' = '' as other \\gset
\\if :other
do {};
\\endif
\\set failed 0
\\set ON_ERROR_STOP off
",
        rows.join(",\n"),
        quote_literal(&format!(
            "begin raise exception {}; end",
            quote_literal(&format!(
                "this database is none of the shards that the script is for: {names}"
            ))
        )),
    );
}

/// Writes the statements of a shard. They run only in its database.
fn write_shard_section(text: &mut String, shard: &ShardName, covered: &[&Finding]) {
    let mut steps: Vec<(&Finding, &FixStatement)> = covered
        .iter()
        .filter_map(|finding| Some((*finding, finding.fix.as_ref()?)))
        .filter(|(_, fix)| &fix.shard == shard)
        .flat_map(|(finding, fix)| fix.statements.iter().map(move |s| (finding, s)))
        .collect();
    steps.sort_by_key(|(_, statement)| statement.stage);
    let _ = write!(
        text,
        "\nselect :'shard' = {} as chosen \\gset\n\\if :chosen\n{LOCK_TIMEOUT}\n",
        quote_literal(shard.as_str())
    );
    let (mut written, mut without_timeout) = (BTreeSet::new(), false);
    for (finding, FixStatement { stage, sql }) in steps {
        if !written.insert(sql) {
            continue;
        }
        if (*stage == FixStage::Indexes) != without_timeout {
            without_timeout = !without_timeout;
            let _ = writeln!(
                text,
                "{}",
                [LOCK_TIMEOUT, NO_LOCK_TIMEOUT][usize::from(without_timeout)]
            );
        }
        let _ = writeln!(
            text,
            "\\echo {}\n{sql}\n\\if :ERROR\n\\set failed 1\n\\endif",
            echo_argument(finding)
        );
    }
    if written.is_empty() {
        *text += "\\echo 'nothing to do'\n";
    }
    *text += "\\endif\n";
}

/// Returns code and object as an argument of `\echo`.
fn echo_argument(finding: &Finding) -> String {
    let line = without_control_characters(&format!("{} {}", finding.sw, finding.object));
    format!("'{}'", line.replace('\\', "\\\\").replace('\'', "''"))
}

/// Writes comments about what the script does not fix.
fn write_not_fixed(text: &mut String, title: &str, findings: &[&Finding]) {
    if findings.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n-- {title}:");
    for finding in findings {
        let line = format!("{} {}: {}", finding.sw, finding.object, finding.problem);
        let _ = writeln!(text, "-- {}", without_control_characters(&line));
        let _ = writeln!(
            text,
            "--     {}",
            without_control_characters(&finding.remedy)
        );
    }
}

/// Replaces control characters by spaces. Without this, `psql` would execute the text after a line end in a name.
fn without_control_characters(text: &str) -> String {
    let characters = text.chars().map(|c| match c.is_control() {
        true => ' ',
        false => c,
    });
    characters.collect()
}

#[cfg(test)]
mod tests {
    use super::{Script, ShardDatabase, script};
    use crate::doctor::Finding;
    use crate::fix::{Fix, FixStage, FixStatement};
    use crate::id::ShardName;
    use crate::identity::DatabaseIdentity;

    fn finding(code: &str, object: &str, steps: &[(FixStage, &str)]) -> Finding {
        let mut finding = Finding::new(code, object, "it is so", "do otherwise");
        let statements = steps
            .iter()
            .map(|(stage, sql)| FixStatement::new(*stage, sql));
        finding.fix = (!steps.is_empty()).then(|| Fix {
            shard: ShardName::from("a"),
            statements: statements.collect(),
        });
        finding
    }

    fn script_of(findings: &[&Finding], deletes: bool) -> Script {
        let identity = DatabaseIdentity {
            system: "7".to_owned(),
            database: Some(5),
            ..DatabaseIdentity::default()
        };
        let place = ShardDatabase {
            shard: &ShardName::from("a"),
            identity: Some(&identity),
        };
        script(&[place], findings, deletes)
    }

    #[test]
    fn statements_are_written_once_and_by_stage() {
        let index = (FixStage::Indexes, "create index");
        let last = finding(
            "key.identity",
            "table b",
            &[index, (FixStage::Identities, "identify")],
        );
        let first = finding(
            "key.null",
            "table a",
            &[(FixStage::Tables, "set not null"), index],
        );
        let text = script_of(&[&last, &first], false).text;
        let places = [
            "set not null;",
            "lock_timeout = 0",
            "create index;",
            "identify;",
        ];
        let places = places.map(|part| text.find(part).expect("written"));
        assert!(places.is_sorted(), "{text}");
        assert_eq!(text.matches("create index;").count(), 1, "{text}");
    }

    #[test]
    fn deletions_of_rows_are_included_only_on_request() {
        let orphans = finding(
            "through.orphan",
            "table a",
            &[(FixStage::Deletes, "delete from a")],
        );
        let without = script_of(&[&orphans], false);
        assert!(!without.text.contains("\ndelete from a"));
        assert_eq!((without.covered, without.withheld), (0, 1));
        let with = script_of(&[&orphans], true);
        assert!(with.text.contains("\ndelete from a;"));
        assert_eq!((with.covered, with.withheld), (1, 0));
    }

    #[test]
    fn a_name_with_a_line_end_stays_in_its_comment() {
        let name = "table a\n\\! rm -r x\ndrop table b";
        let by_hand = finding("table.inherits", name, &[]);
        let fixed = finding("key.null", name, &[(FixStage::Tables, "fix")]);
        let text = script_of(&[&by_hand, &fixed], false).text;
        let harmless = |line: &str| !line.starts_with("\\!") && !line.starts_with("drop");
        assert!(text.lines().all(harmless), "{text}");
    }

    #[test]
    fn a_shard_without_an_identity_gets_no_statements() {
        let fixed = finding("key.null", "table a", &[(FixStage::Tables, "fix")]);
        let place = ShardDatabase {
            shard: &ShardName::from("a"),
            identity: None,
        };
        let found = script(&[place], &[&fixed], false);
        assert!(!found.text.contains("\nfix;"));
        assert_eq!((found.covered, found.left), (0, 1));
    }
}
