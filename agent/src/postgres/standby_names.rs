//! Reads and changes the value of `synchronous_standby_names`: adds or removes names of the agent. Does no I/O.
//!
//! With synchronous dual-write a commit must wait for the agent, and for as many of the other standbys as before (R22).
//! So `FIRST n` becomes `FIRST n+1` with the agent's name first. `ANY n` stays `ANY` only if all of its names are
//! needed. Otherwise n+1 other standbys could satisfy the quorum without the agent, so it becomes `FIRST n+1`.
//! [`StandbyNames::without`] does not change the method; [`dual_write`](crate::shard::dual_write) then restores the
//! original text.

use plans::sql::quote_ident;

/// The prefix of every name that an agent adds to the setting.
pub(crate) const AGENT_PREFIX: &str = "shardwright/";

/// The value of the setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StandbyNames {
    method: SyncMethod,
    /// The number of names that a commit waits for; 0 if there are no names.
    number: u32,
    names: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SyncMethod {
    First,
    Any,
}

/// The reason why a value cannot be extended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NamesError {
    /// The value is not in the form that PostgreSQL 15 documents.
    #[error("synchronous_standby_names has a value that cannot be extended: {value:?}")]
    Unreadable { value: String },
}

impl StandbyNames {
    /// Parses the value of the setting.
    ///
    /// # Errors
    /// [`NamesError::Unreadable`].
    pub(crate) fn parse(value: &str) -> Result<Self, NamesError> {
        let unreadable = || NamesError::Unreadable {
            value: value.to_owned(),
        };
        let tokens = split_tokens(value).ok_or_else(unreadable)?;
        parse_tokens(&tokens).ok_or_else(unreadable)
    }

    /// Returns the value with `name` added, for which every commit then waits. The value is unchanged if it contains
    /// `name`.
    pub(crate) fn with(&self, name: &str) -> Self {
        if self.any(|known| known == name) {
            return self.clone();
        }
        let needs_every_name =
            usize::try_from(self.number).is_ok_and(|number| number == self.names.len());
        let needs_all = needs_every_name && !self.any(|known| known == "*");
        let mut names = vec![name.to_owned()];
        names.extend(self.names.iter().cloned());
        Self {
            method: match self.method {
                SyncMethod::Any if needs_all => SyncMethod::Any,
                SyncMethod::First | SyncMethod::Any => SyncMethod::First,
            },
            number: self.number.saturating_add(1),
            names,
        }
    }

    /// Returns the value without the names for which `is_removed` is true, with the same method. Commits wait for the
    /// remaining names as before.
    pub(crate) fn without(&self, is_removed: impl Fn(&str) -> bool) -> Self {
        let names: Vec<String> = self
            .names
            .iter()
            .filter(|name| !is_removed(name))
            .cloned()
            .collect();
        let removed = u32::try_from(self.names.len() - names.len()).unwrap_or(u32::MAX);
        let number = if names.is_empty() {
            0
        } else {
            self.number.saturating_sub(removed).max(1)
        };
        Self {
            method: self.method,
            number,
            names,
        }
    }

    /// Returns the names, in their order.
    pub(crate) fn into_names(self) -> Vec<String> {
        self.names
    }

    /// Returns whether the predicate is true for one of the names.
    pub(crate) fn any(&self, predicate: impl Fn(&str) -> bool) -> bool {
        self.names.iter().any(|name| predicate(name))
    }

    /// Returns true if both values have the same names in the same order, and wait for the same number of them. The
    /// methods may differ.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.number == other.number && self.names == other.names
    }

    /// Returns the value as text.
    pub(crate) fn render(&self) -> String {
        if self.names.is_empty() {
            return String::new();
        }
        let method = match self.method {
            SyncMethod::First => "FIRST",
            SyncMethod::Any => "ANY",
        };
        let names: Vec<String> = self.names.iter().map(|name| quoted_name(name)).collect();
        format!("{method} {} ({})", self.number, names.join(", "))
    }
}

/// Returns a name as it is written in the setting.
fn quoted_name(name: &str) -> String {
    if name == "*" {
        return name.to_owned();
    }
    quote_ident(name)
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum NamesToken {
    Word(String),
    Quoted(String),
    Number(String),
    Open,
    Close,
    Comma,
}

/// Parses the tokens of a value. Returns `None` if they are not in a documented form.
fn parse_tokens(tokens: &[NamesToken]) -> Option<StandbyNames> {
    let (method, number, list) = match tokens {
        [] => (SyncMethod::First, 0, tokens),
        [
            NamesToken::Word(word),
            NamesToken::Number(number),
            NamesToken::Open,
            list @ ..,
            NamesToken::Close,
        ] => (parse_method(word)?, number.parse().ok()?, list),
        [
            NamesToken::Number(number),
            NamesToken::Open,
            list @ ..,
            NamesToken::Close,
        ] => (SyncMethod::First, number.parse().ok()?, list),
        list => (SyncMethod::First, 1, list),
    };
    Some(StandbyNames {
        method,
        number,
        names: parse_names(list)?,
    })
}

fn parse_method(word: &str) -> Option<SyncMethod> {
    match word.to_ascii_lowercase().as_str() {
        "first" => Some(SyncMethod::First),
        "any" => Some(SyncMethod::Any),
        _ => None,
    }
}

/// Parses names that are separated by commas.
fn parse_names(list: &[NamesToken]) -> Option<Vec<String>> {
    if list.is_empty() {
        return Some(Vec::new());
    }
    list.split(|token| *token == NamesToken::Comma)
        .map(|part| match part {
            [NamesToken::Word(word)] if parse_method(word).is_none() => Some(word.clone()),
            [NamesToken::Quoted(name) | NamesToken::Number(name)] => Some(name.clone()),
            _ => None,
        })
        .collect()
}

/// Divides the value into tokens; `None` if it has a character that no token begins with.
fn split_tokens(value: &str) -> Option<Vec<NamesToken>> {
    let mut tokens = Vec::new();
    let mut rest = value.chars().peekable();
    while let Some(first) = rest.next() {
        match first {
            ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' => {}
            '(' => tokens.push(NamesToken::Open),
            ')' => tokens.push(NamesToken::Close),
            ',' => tokens.push(NamesToken::Comma),
            '*' => tokens.push(NamesToken::Word("*".to_owned())),
            '"' => tokens.push(NamesToken::Quoted(read_quoted(&mut rest)?)),
            _ if first.is_ascii_digit() => {
                tokens.push(NamesToken::Number(read_word(first, &mut rest, |c| {
                    c.is_ascii_digit()
                })));
            }
            _ if starts_name(first) => {
                let continues_name = |c: char| starts_name(c) || c.is_ascii_digit() || c == '$';
                tokens.push(NamesToken::Word(read_word(
                    first,
                    &mut rest,
                    continues_name,
                )));
            }
            _ => return None,
        }
    }
    Some(tokens)
}

fn starts_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

type RestOfText<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Returns the word that begins with `first` and has the next characters for which `continues` is true.
fn read_word(first: char, rest: &mut RestOfText<'_>, continues: impl Fn(char) -> bool) -> String {
    let mut word = String::from(first);
    while let Some(next) = rest.next_if(|c| continues(*c)) {
        word.push(next);
    }
    word
}

/// Returns the text between double quotes. A doubled quote represents one quote.
fn read_quoted(rest: &mut RestOfText<'_>) -> Option<String> {
    let mut name = String::new();
    loop {
        match rest.next()? {
            '"' if rest.next_if_eq(&'"').is_some() => name.push('"'),
            '"' => return Some(name),
            other => name.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StandbyNames;

    const OUR_NAME: &str = "shardwright/m1/dual-write/3";

    fn extended(value: &str) -> String {
        let names = StandbyNames::parse(value).expect("readable");
        names.with(OUR_NAME).render()
    }

    #[test]
    fn commits_wait_for_the_other_standbys_as_before_and_for_the_agent() {
        let ours = format!("\"{OUR_NAME}\"");
        for (original, with_agent) in [
            ("", format!("FIRST 1 ({ours})")),
            ("s1", format!("FIRST 2 ({ours}, \"s1\")")),
            ("s1, s2", format!("FIRST 2 ({ours}, \"s1\", \"s2\")")),
            ("2 (s1, s2)", format!("FIRST 3 ({ours}, \"s1\", \"s2\")")),
            (
                "First 2(s1,S2 , *)",
                format!("FIRST 3 ({ours}, \"s1\", \"S2\", *)"),
            ),
            ("*", format!("FIRST 2 ({ours}, *)")),
            ("any 2 (s1, s2)", format!("ANY 3 ({ours}, \"s1\", \"s2\")")),
            // With ANY 3, the three standbys could satisfy the quorum without the agent.
            (
                "ANY 2 (s1, s2, s3)",
                format!("FIRST 3 ({ours}, \"s1\", \"s2\", \"s3\")"),
            ),
            ("ANY 1 (*)", format!("FIRST 2 ({ours}, *)")),
            (
                r#""a ""b"", c", 7"#,
                format!(r#"FIRST 2 ({ours}, "a ""b"", c", "7")"#),
            ),
            (r#""first""#, format!(r#"FIRST 2 ({ours}, "first")"#)),
        ] {
            assert_eq!(extended(original), with_agent, "{original}");
            let names = StandbyNames::parse(&with_agent).expect("readable");
            let back = names.without(|name| name == OUR_NAME);
            assert!(
                back.is_like(&StandbyNames::parse(original).expect("readable")),
                "{original}"
            );
            assert_eq!(
                names.with(OUR_NAME),
                names,
                "adding the name again changes nothing"
            );
        }
    }

    #[test]
    fn a_value_in_an_undocumented_form_is_refused() {
        for value in [
            "s1,",
            "FIRST (s1)",
            "ANY 1 s1",
            "FIRST 1 (s1",
            "first",
            "a-b",
            "\"s1",
            "1 (s1) x",
            "some 1 (s1)",
        ] {
            assert!(StandbyNames::parse(value).is_err(), "{value}");
        }
    }
}
