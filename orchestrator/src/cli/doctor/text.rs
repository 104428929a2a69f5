//! The findings as text: grouped by code, the most severe first. A finding that several shards have is printed once.

use crate::controller::Diagnosis;
use plans::doctor::Finding;
use plans::doctor::{count, find};
use plans::failure::Severity;
use std::fmt::Write;

/// Returns the text of the whole diagnosis.
pub(super) fn of(found: &Diagnosis) -> String {
    let mut text = String::new();
    for shard in &found.shards {
        let (name, tables) = (&shard.shard, shard.tables);
        let sum = sum(&shard.findings);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "shard {name}, {tables} tables: {sum}");
    }
    for m in &found.moves {
        let sum = sum(&m.findings);
        let _ = writeln!(text, "from {} to {}: {sum}", m.source, m.target);
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
        text += "shardwright doctor --explain CODE tells more of each\n";
    }
    text
}

/// Returns the number of findings of each severity as text.
fn sum(findings: &[Finding]) -> String {
    let counted = [
        (Severity::Refused, "refused"),
        (Severity::Warning, "warnings"),
        (Severity::Note, "notes"),
    ]
    .map(|(severity, word)| (count(findings, severity), word));
    let counted = counted.iter().filter(|(number, _)| *number > 0);
    let counted: Vec<String> = counted
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    match counted.is_empty() {
        true => "nothing found".to_owned(),
        false => counted.join(", "),
    }
}

/// The findings of one code.
struct FindingGroup<'a> {
    first: &'a Finding,
    items: Vec<Item<'a>>,
}

/// One finding, with the shards that have it.
struct Item<'a> {
    object: &'a str,
    places: Vec<&'a str>,
    problem: &'a str,
    remedy: &'a str,
}

/// Groups the findings by severity and code. The findings of one code stay in their order.
fn groups(found: &Diagnosis) -> Vec<FindingGroup<'_>> {
    let mut groups: Vec<FindingGroup<'_>> = Vec::new();
    for finding in found.findings() {
        let (place, object) = finding
            .object
            .split_once(", ")
            .unwrap_or((&finding.object, ""));
        let at = match groups
            .iter()
            .position(|group| group.first.code == finding.code)
        {
            Some(at) => at,
            None => {
                let items = Vec::new();
                groups.push(FindingGroup {
                    first: finding,
                    items,
                });
                groups.len() - 1
            }
        };
        let same = |item: &&mut Item<'_>| {
            (item.object, item.problem, item.remedy)
                == (object, &*finding.problem, &*finding.remedy)
        };
        match groups[at].items.iter_mut().find(same) {
            Some(item) if item.places.contains(&place) => {}
            Some(item) => item.places.push(place),
            None => groups[at].items.push(Item {
                object,
                places: vec![place],
                problem: &finding.problem,
                remedy: &finding.remedy,
            }),
        }
    }
    groups.sort_by_key(|group| (std::cmp::Reverse(group.first.severity), &group.first.sw));
    groups
}

impl FindingGroup<'_> {
    fn write(&self, text: &mut String) {
        let severity = match self.first.severity {
            Severity::Refused => "refused",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let title = find(&self.first.code).map_or(&*self.first.code, |code| code.title);
        let _ = writeln!(text, "\n{severity:<7}  {}  {title}", self.first.sw);
        let one = |of: fn(&Item<'_>) -> String| {
            let first = self.items.first().map(of);
            first.filter(|first| self.items.iter().all(|item| &of(item) == first))
        };
        let (problem, remedy) = (
            one(|item| item.problem.to_owned()),
            one(|item| item.remedy.to_owned()),
        );
        if let Some(problem) = &problem {
            let _ = writeln!(text, "  {problem}");
        }
        for item in &self.items {
            let _ = writeln!(text, "  - {}", item.named());
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

impl Item<'_> {
    /// Returns the name of the object and the shards that have it.
    fn named(&self) -> String {
        let places = self.places.join(", ");
        match self.object {
            "" => places,
            object => format!("{places}: {object}"),
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
        assert!(text.contains(expected), "{text}");
    }
}
