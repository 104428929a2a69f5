//! Quotes names and texts for SQL.

/// Puts `text` between two `mark`s, and doubles every `mark` inside it. SQL, PgBouncer and the server's lists of names
/// are quoted in this way.
#[must_use]
pub fn quoted(text: &str, mark: char) -> String {
    let doubled = text.replace(mark, &format!("{mark}{mark}"));
    format!("{mark}{doubled}{mark}")
}

/// Quotes an identifier for SQL, even if it is not necessary.
#[must_use]
pub fn quote_ident(name: &str) -> String {
    quoted(name, '"')
}

/// Quotes a string literal for SQL. All sessions of Shardwright have `standard_conforming_strings` on.
#[must_use]
pub fn quote_literal(text: &str) -> String {
    if text.contains('\\') {
        format!("e{}", quoted(&text.replace('\\', "\\\\"), '\''))
    } else {
        quoted(text, '\'')
    }
}
