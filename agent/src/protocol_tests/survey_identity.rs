//! The identity of a table's rows: the survey refuses a table without one and reports the statement that fixes this.
//! After the statement the table can move.

use plans::survey::Survey;

use super::shard::Shard as Database;
use super::survey::{refusals, refuses, run, task};
use crate::inspect::survey;

const TABLE: &str = "create table good (tenant_id bigint not null, id bigint not null, code bigint not null, note bigint";

/// A source whose table `good` the test surveys repeatedly.
struct IdentityCase {
    source: Database,
    target: Database,
}

impl IdentityCase {
    async fn new(name: &str, ddl: &str) -> Self {
        let source = Database::new(&format!("{name}_s")).await;
        let target = Database::on(source.cluster.clone(), &format!("{name}_t")).await;
        run(&source, ddl).await;
        Self { source, target }
    }

    async fn look(&self) -> Survey {
        let (source, target) = (self.source.dsn_text(), self.target.dsn_text());
        let task = task(&source, &target, &[("good", "tenant_id")]);
        survey::run(&task).await.expect("surveyed")
    }

    /// Executes the remedy of the only refusing finding, and surveys again.
    async fn mended(&self) -> Survey {
        let survey = self.look().await;
        let refused: Vec<_> = survey
            .findings
            .iter()
            .filter(|f| f.severity == plans::failure::Severity::Refused)
            .collect();
        let [finding] = refused.as_slice() else {
            panic!("{refused:?}")
        };
        let (first, _) = finding
            .remedy
            .split_once("; or,")
            .unwrap_or((&finding.remedy, ""));
        run(&self.source, first).await;
        self.look().await
    }
}

fn warned(survey: &Survey, code: &str) -> bool {
    survey.findings.iter().any(|finding| finding.code == code)
}

#[tokio::test]
async fn a_unique_index_that_fits_is_offered_and_then_identifies_rows() {
    for (name, rest, index, code, identity) in [
        (
            "si_bare",
            ")",
            "(code, tenant_id)",
            "table.primary_key",
            ["code", "tenant_id"],
        ),
        (
            "si_deferrable",
            ", primary key (tenant_id, id) deferrable)",
            "(tenant_id, code)",
            "table.deferrable",
            ["tenant_id", "code"],
        ),
        (
            "si_nullable",
            ")",
            "(tenant_id, note)",
            "table.primary_key",
            ["tenant_id", "note"],
        ),
        (
            "si_outside",
            ", primary key (id))",
            "(tenant_id, id)",
            "key.identity",
            ["tenant_id", "id"],
        ),
    ] {
        // None of these indexes can identify the rows: a partial index, one with an expression, and one without the
        // key.
        let ddl = format!(
            "{TABLE}{rest}; create unique index fits on good {index} include (id);
             create unique index of_some on good (tenant_id, id) where note > 0;
             create unique index computed on good (tenant_id, (id + 1)); create unique index keyless on good (id);"
        );
        let case = IdentityCase::new(name, &ddl).await;
        refuses(
            &case.look().await,
            code,
            "table public.good",
            "replica identity using index \"fits\"",
        );
        let survey = case.mended().await;
        assert_eq!(refusals(&survey), [], "{name}");
        assert_eq!(survey.tables[0].identity, identity);
    }
}

#[tokio::test]
async fn nothing_and_an_index_that_is_gone_are_refused_and_the_primary_key_is_offered() {
    for (name, identity) in [
        ("si_nothing", "alter table good replica identity nothing"),
        (
            "si_gone",
            "create unique index other on good (tenant_id, code);
             alter table good replica identity using index other; drop index other",
        ),
    ] {
        let ddl = format!("{TABLE}, primary key (tenant_id, id)); {identity}");
        let case = IdentityCase::new(name, &ddl).await;
        refuses(
            &case.look().await,
            "table.identity",
            "table public.good",
            "replica identity default",
        );
        assert_eq!(refusals(&case.mended().await), [], "{name}");
    }
}

#[tokio::test]
async fn whole_rows_move_and_the_lack_of_a_key_is_told() {
    for (name, rest, identity, whole) in [
        (
            "si_full",
            ", primary key (tenant_id, id))",
            &["tenant_id", "id"][..],
            false,
        ),
        (
            "si_full_other",
            ", primary key (id))",
            &["id", "tenant_id"],
            false,
        ),
        ("si_full_bare", ")", &[], true),
        (
            "si_full_late",
            ", primary key (tenant_id, id) deferrable)",
            &[],
            true,
        ),
    ] {
        let ddl = format!("{TABLE}{rest}; alter table good replica identity full");
        let survey = IdentityCase::new(name, &ddl).await.look().await;
        assert_eq!(refusals(&survey), [], "{name}");
        assert_eq!(survey.tables[0].identity, identity, "{name}");
        assert_eq!(warned(&survey, "table.whole_row"), whole, "{name}");
    }
}

#[tokio::test]
async fn a_table_without_anything_unique_is_offered_a_key_or_its_whole_rows() {
    let case = IdentityCase::new("si_none", &format!("{TABLE});")).await;
    let survey = case.look().await;
    refuses(
        &survey,
        "table.primary_key",
        "table public.good",
        "add primary key (tenant_id, ...)",
    );
    refuses(
        &survey,
        "table.primary_key",
        "table public.good",
        "replica identity full",
    );
}

#[tokio::test]
async fn a_generated_column_identifies_no_row_of_a_table_that_18_publishes() {
    let generated = "twice bigint not null generated always as (id * 2) stored";
    let full = "alter table good replica identity full";
    for (name, rest, remedy) in [
        (
            "si_gen_full",
            format!("{generated}, primary key (tenant_id, id)); {full}"),
            "identity default",
        ),
        (
            "si_whole",
            format!("{generated}); {full}"),
            "without generated columns",
        ),
        (
            "si_key",
            format!("{generated}, primary key (tenant_id, twice))"),
            "without generated columns",
        ),
    ] {
        let case = IdentityCase::new(name, &format!("{TABLE}, {rest}")).await;
        let survey = case.look().await;
        if case.source.cluster.binaries().major() < 18 {
            assert!(!warned(&survey, "table.identity"), "{name}");
            continue;
        }
        refuses(&survey, "table.identity", "good, column twice", remedy);
        if name == "si_gen_full" {
            assert_eq!(refusals(&case.mended().await), [], "{name}");
        }
    }
}
