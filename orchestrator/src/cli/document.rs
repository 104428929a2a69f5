//! The kinds of documents that commands read. If a file has another kind than the command expects, the error names the
//! command for it.

use super::error::CliError;
use super::files::read;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// A kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// What `plan` reads.
    Request,
    /// What `apply` reads.
    Plan,
    /// What `fleet apply` reads.
    Fleet,
    /// What `map repair` reads.
    Repairs,
}

impl DocumentKind {
    /// Reads a file that should be of this kind.
    ///
    /// # Errors
    /// The file cannot be read, or is of another kind. A text of no known kind is returned; its parser reports the
    /// error.
    pub(super) fn read(self, path: &Path) -> Result<String, CliError> {
        let text = read(path)?;
        match Self::of(&text).filter(|found| *found != self) {
            None => Ok(text),
            Some(found) => Err(CliError::OtherDocument {
                path: path.display().to_string(),
                found,
                wanted: self,
            }),
        }
    }

    /// Determines the kind of a text from the fields that only this kind has.
    fn of(text: &str) -> Option<Self> {
        let fields: BTreeMap<String, IgnoredAny> = serde_saphyr::from_str(text).ok()?;
        let has = |field: &str| fields.contains_key(field);
        if has("hash") && has("api_version") {
            Some(Self::Plan)
        } else if has("operation") {
            Some(Self::Request)
        } else if has("shards") || has("maps") {
            Some(Self::Fleet)
        } else if has("map") && has("mends") {
            Some(Self::Repairs)
        } else {
            None
        }
    }

    /// Returns what the user can do with a file of this kind.
    pub(super) fn command(self, path: &str) -> String {
        match self {
            Self::Request => format!(
                "plan it first: shardwright plan {path} -o PLAN, then: shardwright apply PLAN"
            ),
            Self::Plan => format!("submit it with: shardwright apply {path}"),
            Self::Fleet => format!("apply it with: shardwright fleet apply {path}"),
            Self::Repairs => format!("carry it out with: shardwright map repair {path}"),
        }
    }
}

impl fmt::Display for DocumentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request => "a request",
            Self::Plan => "a plan",
            Self::Fleet => "a fleet file",
            Self::Repairs => "a request of repairs",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::DocumentKind as D;

    #[test]
    fn the_kind_of_a_document_is_determined_by_its_fields() {
        for (text, kind) in [
            ("operation: split\nmap: m\n", Some(D::Request)),
            (
                "{\"api_version\": \"x\", \"operation\": \"split\", \"hash\": \"y\"}",
                Some(D::Plan),
            ),
            ("shards: []\n", Some(D::Fleet)),
            ("maps: []\n", Some(D::Fleet)),
            ("map: m\nmends: []\n", Some(D::Repairs)),
            ("map: m\n", None),
            ("- a\n", None),
            ("{", None),
        ] {
            assert_eq!(D::of(text), kind, "{text}");
        }
    }
}
