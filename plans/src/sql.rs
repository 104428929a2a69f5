//! Names and texts as SQL writes them.

/// `text` between two of `mark`, each of which it holds is doubled: how SQL, PgBouncer and the server's lists of names quote.
#[must_use]
pub fn quoted(text: &str, mark: char) -> String {
    let doubled = text.replace(mark, &format!("{mark}{mark}"));
    format!("{mark}{doubled}{mark}")
}

/// Quotes an identifier for SQL, always.
#[must_use]
pub fn quote_ident(name: &str) -> String {
    quoted(name, '"')
}

/// Quotes a string literal for SQL (standard_conforming_strings is on in every session of ours).
#[must_use]
pub fn quote_literal(text: &str) -> String {
    if text.contains('\\') {
        format!("e{}", quoted(&text.replace('\\', "\\\\"), '\''))
    } else {
        quoted(text, '\'')
    }
}
