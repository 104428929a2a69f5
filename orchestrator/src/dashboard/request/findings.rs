//! Findings of a plan, grouped by kind: each kind has one remedy, and all objects that it concerns.

use super::super::marks::{self, StateMark};
use crate::store::ShardRecord;
use plans::doctor::{Finding, ShardDatabase, find, script};

/// The maximum number of listed objects of one kind.
const MAX_OBJECTS: usize = 50;

/// The findings.
#[derive(Default)]
pub(super) struct FindingsView {
    pub(super) groups: Vec<GroupedFindings>,
    /// A script that fixes what statements can fix; empty if they can fix nothing.
    pub(super) script: String,
    /// The number of findings that the script fixes.
    pub(super) covered: usize,
}

/// All findings of one kind.
pub(super) struct GroupedFindings {
    pub(super) mark: StateMark,
    pub(super) title: String,
    /// The number of the chapter in the reference of findings.
    pub(super) number: String,
    pub(super) remedy: String,
    pub(super) objects: Vec<FoundObject>,
    pub(super) hidden: usize,
}

/// One finding of a group.
pub(super) struct FoundObject {
    pub(super) object: String,
    pub(super) problem: String,
    /// Its own remedy, if the findings of the group have different ones.
    pub(super) remedy: Option<String>,
}

impl FindingsView {
    /// Groups `findings`, the most severe kind first. `shards` are the shards for which a script can be written.
    pub(super) fn new(findings: Vec<Finding>, shards: &[ShardRecord]) -> Self {
        let databases: Vec<ShardDatabase<'_>> = shards
            .iter()
            .map(|shard| ShardDatabase {
                shard: &shard.name,
                identity: shard.identity.as_ref(),
            })
            .collect();
        let all: Vec<&Finding> = findings.iter().collect();
        let fixed = script(&databases, &all, false);
        let mut kinds: Vec<Vec<&Finding>> = Vec::new();
        for finding in &findings {
            match kinds
                .iter_mut()
                .find(|kind| kind.iter().any(|other| other.code == finding.code))
            {
                Some(kind) => kind.push(finding),
                None => kinds.push(vec![finding]),
            }
        }
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.first().map(|finding| finding.severity)));
        Self {
            groups: kinds.iter().filter_map(|kind| group(kind)).collect(),
            script: if fixed.covered > 0 {
                fixed.text
            } else {
                String::new()
            },
            covered: fixed.covered,
        }
    }

    /// Returns the number of findings.
    fn number(&self) -> usize {
        self.groups
            .iter()
            .map(|group| group.objects.len() + group.hidden)
            .sum()
    }

    /// Returns the numbers of findings and of their kinds, as in `3 of 2 kinds`.
    pub(super) fn summary(&self) -> String {
        match (self.number(), self.groups.len()) {
            (1, _) => "1".to_owned(),
            (number, 1) => format!("{number} of one kind"),
            (number, kinds) => format!("{number} of {kinds} kinds"),
        }
    }
}

fn group(kind: &[&Finding]) -> Option<GroupedFindings> {
    let first = kind.first()?;
    let known = find(&first.code);
    let is_same = kind.iter().all(|finding| finding.remedy == first.remedy);
    let general = known.map_or(first.remedy.as_str(), |code| code.remedy);
    let objects = kind.iter().take(MAX_OBJECTS).map(|finding| FoundObject {
        object: finding.object.clone(),
        problem: finding.problem.clone(),
        remedy: (!is_same).then(|| finding.remedy.clone()),
    });
    Some(GroupedFindings {
        mark: marks::of_finding(first.severity),
        title: known.map_or_else(|| first.code.clone(), |code| code.title.to_owned()),
        number: first.sw.clone(),
        remedy: if is_same {
            first.remedy.clone()
        } else {
            general.to_owned()
        },
        objects: objects.collect(),
        hidden: kind.len().saturating_sub(MAX_OBJECTS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_one_remedy_and_all_its_objects() {
        let finding =
            |code: &str, object: &str, remedy: &str| Finding::new(code, object, "it is so", remedy);
        let findings = vec![
            finding("key.null", "table a", "alter a"),
            finding("key.identity", "table b", "fix it"),
            finding("key.null", "table c", "alter c"),
        ];
        let view = FindingsView::new(findings, &[]);
        let kinds: Vec<(usize, bool)> = view
            .groups
            .iter()
            .map(|group| (group.objects.len(), group.objects[0].remedy.is_some()))
            .collect();
        assert_eq!(view.summary(), "3 of 2 kinds");
        assert!(
            kinds.contains(&(2, true)) && kinds.contains(&(1, false)),
            "{kinds:?}"
        );
        assert!(view.script.is_empty(), "no shard is known");
    }
}
