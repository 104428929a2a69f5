//! The value of `synchronous_standby_names`: read, extended by a name of ours, freed of names of ours. Pure.
//!
//! A commit must wait for us and for as many of the others as before, so `FIRST n` becomes `FIRST n+1` with our
//! name in front (R22). `ANY n` stays a quorum only if all of its names are needed; otherwise n+1 of the others
//! could make it without us, so it becomes `FIRST n+1` for as long as we are in it.

use plans::sql::quote_ident;

/// Every name of ours in the setting begins so.
pub(crate) const OURS: &str = "shardwright/";

/// What the setting says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StandbyNames {
    method: SyncMethod,
    /// How many of the names a commit waits for; 0 when there are none.
    number: u32,
    names: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SyncMethod {
    First,
    Any,
}

/// Why a value cannot be extended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NamesError {
    /// It is not in the form that PostgreSQL 15 documents.
    #[error("synchronous_standby_names has a value that cannot be extended: {value:?}")]
    Unreadable { value: String },
}

impl StandbyNames {
    /// Reads the setting's text.
    ///
    /// # Errors
    /// [`NamesError::Unreadable`].
    pub(crate) fn parse(value: &str) -> Result<Self, NamesError> {
        let unreadable = || NamesError::Unreadable {
            value: value.to_owned(),
        };
        let tokens = tokens(value).ok_or_else(unreadable)?;
        read(&tokens).ok_or_else(unreadable)
    }

    /// With `name`, for which every commit waits from then on; unchanged if it is there.
    pub(crate) fn with(&self, name: &str) -> Self {
        if self.holds(|known| known == name) {
            return self.clone();
        }
        let all = usize::try_from(self.number).is_ok_and(|number| number == self.names.len());
        let needs_all = all && !self.holds(|known| known == "*");
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

    /// Without the names that are `gone`; the others are waited for as before.
    pub(crate) fn without(&self, gone: impl Fn(&str) -> bool) -> Self {
        let names: Vec<String> = self
            .names
            .iter()
            .filter(|name| !gone(name))
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

    /// The names, in their order.
    pub(crate) fn into_names(self) -> Vec<String> {
        self.names
    }

    /// Whether some name is what `is` looks for.
    pub(crate) fn holds(&self, is: impl Fn(&str) -> bool) -> bool {
        self.names.iter().any(|name| is(name))
    }

    /// The same names in the same order, and as many of them to wait for: the method may differ.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.number == other.number && self.names == other.names
    }

    /// The setting's text.
    pub(crate) fn render(&self) -> String {
        if self.names.is_empty() {
            return String::new();
        }
        let method = match self.method {
            SyncMethod::First => "FIRST",
            SyncMethod::Any => "ANY",
        };
        let names: Vec<String> = self.names.iter().map(|name| written(name)).collect();
        format!("{method} {} ({})", self.number, names.join(", "))
    }
}

fn written(name: &str) -> String {
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

fn read(tokens: &[NamesToken]) -> Option<StandbyNames> {
    let (method, number, list) = match tokens {
        [] => (SyncMethod::First, 0, tokens),
        [
            NamesToken::Word(word),
            NamesToken::Number(number),
            NamesToken::Open,
            list @ ..,
            NamesToken::Close,
        ] => (method(word)?, number.parse().ok()?, list),
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
        names: names(list)?,
    })
}

fn method(word: &str) -> Option<SyncMethod> {
    match word.to_ascii_lowercase().as_str() {
        "first" => Some(SyncMethod::First),
        "any" => Some(SyncMethod::Any),
        _ => None,
    }
}

fn names(list: &[NamesToken]) -> Option<Vec<String>> {
    if list.is_empty() {
        return Some(Vec::new());
    }
    list.split(|token| *token == NamesToken::Comma)
        .map(|part| match part {
            [NamesToken::Word(word)] if method(word).is_none() => Some(word.clone()),
            [NamesToken::Quoted(name) | NamesToken::Number(name)] => Some(name.clone()),
            _ => None,
        })
        .collect()
}

fn tokens(value: &str) -> Option<Vec<NamesToken>> {
    let mut tokens = Vec::new();
    let mut rest = value.chars().peekable();
    while let Some(first) = rest.next() {
        match first {
            ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' => {}
            '(' => tokens.push(NamesToken::Open),
            ')' => tokens.push(NamesToken::Close),
            ',' => tokens.push(NamesToken::Comma),
            '*' => tokens.push(NamesToken::Word("*".to_owned())),
            '"' => tokens.push(NamesToken::Quoted(quoted(&mut rest)?)),
            _ if first.is_ascii_digit() => {
                tokens.push(NamesToken::Number(word(first, &mut rest, |c| {
                    c.is_ascii_digit()
                })));
            }
            _ if starts_name(first) => {
                let goes_on = |c: char| starts_name(c) || c.is_ascii_digit() || c == '$';
                tokens.push(NamesToken::Word(word(first, &mut rest, goes_on)));
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

fn word(first: char, rest: &mut RestOfText<'_>, goes_on: impl Fn(char) -> bool) -> String {
    let mut word = String::from(first);
    while let Some(next) = rest.next_if(|c| goes_on(*c)) {
        word.push(next);
    }
    word
}

/// What stands between double quotes, in which a doubled one is one.
fn quoted(rest: &mut RestOfText<'_>) -> Option<String> {
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
    fn real_standbys_are_waited_for_as_before_and_we_besides() {
        let ours = format!("\"{OUR_NAME}\"");
        for (before, after) in [
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
            // Two of three would make a quorum of three without us.
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
            assert_eq!(extended(before), after, "{before}");
            let names = StandbyNames::parse(&after).expect("readable");
            let back = names.without(|name| name == OUR_NAME);
            assert!(
                back.is_like(&StandbyNames::parse(before).expect("readable")),
                "{before}"
            );
            assert_eq!(names.with(OUR_NAME), names, "twice is once");
        }
    }

    #[test]
    fn what_is_not_in_the_documented_form_is_not_touched() {
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
