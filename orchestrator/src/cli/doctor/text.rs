//! The findings as text: grouped by code, the most severe first. A finding that several shards have is printed once.

use crate::cli::output::StyledText;
use crate::controller::Diagnosis;
use crate::view::Tone;
use plans::doctor::Finding;
use plans::doctor::{count, find};
use plans::failure::Severity;
use std::fmt::Write;

/// The width of the longest severity.
const SEVERITY_WIDTH: usize = 7;

/// Returns the text of the whole diagnosis.
pub(super) fn of(found: &Diagnosis) -> StyledText {
    let mut text = StyledText::default();
    for shard in &found.shards {
        let (name, tables) = (&shard.shard, shard.tables);
        let counts = severity_counts(&shard.findings);
        // Writing to a text cannot fail.
        let _ = writeln!(text, "shard {name}, {tables} tables: {counts}");
    }
    for m in &found.moves {
        let counts = severity_counts(&m.findings);
        let _ = writeln!(text, "from {} to {}: {counts}", m.source, m.target);
    }
    for group in groups(found) {
        group.write(&mut text);
    }
    let _ = writeln!(
        text,
        "\n{} refused, {} warnings, {} notes",
        found.refused, found.warnings, found.notes
    );
    if found.refused + found.warnings + found.notes > 0 {
        text += "shardwright doctor --explain CODE explains a finding\n";
    }
    text
}

/// Returns the number of findings of each severity as text.
fn severity_counts(findings: &[Finding]) -> String {
    let counts = [
        (Severity::Refused, "refused"),
        (Severity::Warning, "warnings"),
        (Severity::Note, "notes"),
    ]
    .map(|(severity, word)| (count(findings, severity), word));
    let counts = counts.iter().filter(|(number, _)| *number > 0);
    let counts: Vec<String> = counts
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    match counts.is_empty() {
        true => "nothing found".to_owned(),
        false => counts.join(", "),
    }
}

/// The findings of one code.
struct FindingGroup<'a> {
    first: &'a Finding,
    items: Vec<FindingItem<'a>>,
}

/// One finding, with the shards that have it.
struct FindingItem<'a> {
    object: &'a str,
    shards: Vec<&'a str>,
    problem: &'a str,
    remedy: &'a str,
}

/// Groups the findings by severity and code. The findings of one code stay in their order.
fn groups(found: &Diagnosis) -> Vec<FindingGroup<'_>> {
    let mut groups: Vec<FindingGroup<'_>> = Vec::new();
    for finding in found.findings() {
        let (shard, object) = finding
            .object
            .split_once(", ")
            .unwrap_or((&finding.object, ""));
        let index = match groups
            .iter()
            .position(|group| group.first.code == finding.code)
        {
            Some(index) => index,
            None => {
                let items = Vec::new();
                groups.push(FindingGroup {
                    first: finding,
                    items,
                });
                groups.len() - 1
            }
        };
        let is_same = |item: &&mut FindingItem<'_>| {
            (item.object, item.problem, item.remedy)
                == (object, &*finding.problem, &*finding.remedy)
        };
        match groups[index].items.iter_mut().find(is_same) {
            Some(item) if item.shards.contains(&shard) => {}
            Some(item) => item.shards.push(shard),
            None => groups[index].items.push(FindingItem {
                object,
                shards: vec![shard],
                problem: &finding.problem,
                remedy: &finding.remedy,
            }),
        }
    }
    groups.sort_by_key(|group| (std::cmp::Reverse(group.first.severity), &group.first.sw));
    groups
}

impl FindingGroup<'_> {
    fn write(&self, text: &mut StyledText) {
        let severity = self.first.severity;
        let title = find(&self.first.code).map_or(&*self.first.code, |code| code.title);
        *text += "\n";
        text.push_toned(severity.name(), Tone::of_finding(severity));
        let width = SEVERITY_WIDTH.saturating_sub(severity.name().len());
        let _ = writeln!(text, "{:width$}  {}  {title}", "", self.first.sw);
        // A text that all items have in common is written once.
        let common = |field: fn(&FindingItem<'_>) -> String| {
            let first = self.items.first().map(field);
            first.filter(|first| self.items.iter().all(|item| &field(item) == first))
        };
        let (problem, remedy) = (
            common(|item| item.problem.to_owned()),
            common(|item| item.remedy.to_owned()),
        );
        if let Some(problem) = &problem {
            let _ = writeln!(text, "  {problem}");
        }
        for item in &self.items {
            let _ = writeln!(text, "  - {}", item.title());
            if problem.is_none() {
                let _ = writeln!(text, "    {}", item.problem);
            }
            if remedy.is_none() {
                let _ = writeln!(text, "    fix: {}", item.remedy);
            }
        }
        if let Some(remedy) = &remedy {
            let _ = writeln!(text, "  fix: {remedy}");
        }
    }
}

impl FindingItem<'_> {
    /// Returns the name of the object and the shards that have it.
    fn title(&self) -> String {
        let shards = self.shards.join(", ");
        match self.object {
            "" => shards,
            object => format!("{shards}: {object}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::controller::Diagnosis;
    use plans::doctor::Examined;
    use plans::doctor::Finding;
    use plans::id::ShardName;

    fn examined(shard: &str, tables: &[&str]) -> Examined {
        let found = |table: &&str| {
            let object = format!("shard {shard}, table {table}");
            let remedy = format!("alter table {table}");
            Finding::new("key.null", object, "it may be null", remedy)
        };
        Examined {
            shard: ShardName::from(shard),
            identity: None,
            tables: 2,
            findings: tables.iter().map(found).collect(),
            took_ms: 1,
        }
    }

    #[test]
    fn what_two_shards_have_in_common_is_written_once() {
        let found = Diagnosis {
            refused: 3,
            warnings: 0,
            notes: 0,
            shards: vec![examined("a", &["x", "y"]), examined("b", &["x"])],
            moves: Vec::new(),
            standbys: Vec::new(),
            failed: Vec::new(),
        };
        let text = of(&found);
        let expected = "
refused  SW0504  A key column may be null
  it may be null
  - shard a, shard b: table x
    fix: alter table x
  - shard a: table y
    fix: alter table y
";
        let text = anstream::adapter::strip_str(text.as_str()).to_string();
        assert!(text.contains(expected), "{text}");
    }
}
