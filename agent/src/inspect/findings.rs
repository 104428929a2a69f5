//! Collects the findings of a check of shards.

use plans::doctor::Finding;
use plans::failure::Severity;
use plans::fix::{Fix, FixStage};

/// The findings that were collected so far.
#[derive(Debug, Default)]
pub(crate) struct Findings(pub(super) Vec<Finding>);

impl Findings {
    /// Returns all findings.
    pub(super) fn into_vec(self) -> Vec<Finding> {
        self.0
    }

    /// Returns the findings so far.
    #[cfg(test)]
    pub(crate) fn as_slice(&self) -> &[Finding] {
        &self.0
    }

    /// Adds a finding. Its entry in the registry `plans::doctor` determines its severity.
    pub(super) fn add(
        &mut self,
        code: &str,
        object: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> &mut Finding {
        debug_assert!(plans::doctor::find(code).is_some(), "no row for {code}");
        let index = self.0.len();
        self.0.push(Finding::new(code, object, problem, remedy));
        &mut self.0[index]
    }

    /// Adds a finding whose severity refuses the move.
    pub(super) fn add_refusal(
        &mut self,
        code: &str,
        object: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> &mut Finding {
        let finding = self.add(code, object, problem, remedy);
        debug_assert_eq!(finding.severity, Severity::Refused, "the row of {code}");
        finding
    }
}

impl Findings {
    /// Returns true if a finding refuses the move.
    pub(super) fn has_refusal(&self) -> bool {
        let mut found = self.0.iter();
        found.any(|finding| finding.severity == Severity::Refused)
    }

    /// Adds the findings of a leaf partition. A finding that also applies to the whole table, in `table_findings`, is
    /// added once, for the whole table.
    pub(super) fn add_leaf_findings(&mut self, leaf_findings: Self, table_findings: &Self) {
        for leaf_finding in leaf_findings.0 {
            let is_same = |table_finding: &&Finding| {
                (&table_finding.code, &table_finding.problem)
                    == (&leaf_finding.code, &leaf_finding.problem)
            };
            let Some(table_finding) = table_findings.0.iter().find(is_same) else {
                self.0.push(leaf_finding);
                continue;
            };
            let fix = fix_of_leaf(table_finding, &leaf_finding);
            let mut added = self.0.iter_mut();
            let added = added.find(|added| {
                (&added.object, &added.problem) == (&table_finding.object, &table_finding.problem)
            });
            match (added, fix) {
                (None, fix) => self.0.push(Finding {
                    fix,
                    ..table_finding.clone()
                }),
                (Some(added), Some(fix)) => {
                    if let Some(all) = &mut added.fix {
                        all.statements.extend(fix.statements);
                    }
                }
                (Some(_), None) => {}
            }
        }
    }
}

/// Combines the fixes of a table and of one leaf. Columns are altered on the topmost table, and the leaves inherit the
/// change; each leaf has its own replica identity.
fn fix_of_leaf(table_finding: &Finding, leaf_finding: &Finding) -> Option<Fix> {
    let (table_fix, leaf_fix) = (table_finding.fix.as_ref()?, leaf_finding.fix.as_ref()?);
    let columns = table_fix
        .statements
        .iter()
        .filter(|s| s.stage == FixStage::Tables);
    let rest = leaf_fix
        .statements
        .iter()
        .filter(|s| s.stage != FixStage::Tables);
    Some(Fix {
        shard: leaf_fix.shard.clone(),
        statements: columns.chain(rest).cloned().collect(),
    })
}
