//! Findings as a check of a shard gathers them.

use plans::doctor::Finding;
use plans::failure::Severity;
use plans::fix::{Fix, FixStage};

/// Findings as they are gathered.
#[derive(Debug, Default)]
pub(crate) struct Findings(pub(super) Vec<Finding>);

impl Findings {
    /// Everything that was found.
    pub(super) fn into_vec(self) -> Vec<Finding> {
        self.0
    }

    /// What was found so far.
    #[cfg(test)]
    pub(crate) fn as_slice(&self) -> &[Finding] {
        &self.0
    }

    /// Adds a finding; its row in `plans::doctor` says how grave it is.
    pub(super) fn add(
        &mut self,
        code: &str,
        object: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> &mut Finding {
        debug_assert!(plans::doctor::find(code).is_some(), "no row for {code}");
        let at = self.0.len();
        self.0.push(Finding::new(code, object, problem, remedy));
        &mut self.0[at]
    }

    /// Adds a finding that refuses.
    pub(super) fn refuse(
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
    /// Whether something stands in the way.
    pub(super) fn refuse_it(&self) -> bool {
        let mut found = self.0.iter();
        found.any(|finding| finding.severity == Severity::Refused)
    }

    /// Adds what was found of a leaf; what holds for the whole table, `of_all`, is reported once, of that.
    pub(super) fn inherit(&mut self, own: Self, of_all: &Self) {
        for leaf in own.0 {
            let same =
                |whole: &&Finding| (&whole.code, &whole.problem) == (&leaf.code, &leaf.problem);
            let Some(whole) = of_all.0.iter().find(same) else {
                self.0.push(leaf);
                continue;
            };
            let fix = fix_of_leaf(whole, &leaf);
            let mut known = self.0.iter_mut();
            let known = known
                .find(|known| (&known.object, &known.problem) == (&whole.object, &whole.problem));
            match (known, fix) {
                (None, fix) => self.0.push(Finding {
                    fix,
                    ..whole.clone()
                }),
                (Some(known), Some(fix)) => {
                    if let Some(all) = &mut known.fix {
                        all.statements.extend(fix.statements);
                    }
                }
                (Some(_), None) => {}
            }
        }
    }
}

/// Columns are altered at the top, and the leaves follow; each leaf has an identity of its own.
fn fix_of_leaf(whole: &Finding, leaf: &Finding) -> Option<Fix> {
    let (whole, leaf) = (whole.fix.as_ref()?, leaf.fix.as_ref()?);
    let columns = whole
        .statements
        .iter()
        .filter(|s| s.stage == FixStage::Tables);
    let rest = leaf
        .statements
        .iter()
        .filter(|s| s.stage != FixStage::Tables);
    Some(Fix {
        shard: leaf.shard.clone(),
        statements: columns.chain(rest).cloned().collect(),
    })
}
