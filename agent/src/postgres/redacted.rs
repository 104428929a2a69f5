//! Formats a statement for display: replaces each literal by `?` and removes comments.
//!
//! If the server has truncated the statement within a literal, the rest of the text is part of that literal.

/// Maximum number of characters to show.
const SHOWN: usize = 160;

/// Returns `query` without literals and comments, on one line and truncated to [`SHOWN`] characters.
pub(crate) fn redact_literals(query: &str) -> String {
    let chars: Vec<char> = query.chars().collect();
    let mut out = String::new();
    let mut at = 0;
    while at < chars.len() {
        let word = out.chars().last().is_some_and(is_word);
        at = match chars[at] {
            '\'' => literal(&mut out, string_end(&chars, at, escapes(&chars, at))),
            '$' if !word => match dollar_end(&chars, at) {
                Some(end) => literal(&mut out, end),
                None => plain(&mut out, &chars, at),
            },
            '"' => quoted(&mut out, &chars, at),
            '-' if chars.get(at + 1) == Some(&'-') => blank(&mut out, line_end(&chars, at)),
            '/' if chars.get(at + 1) == Some(&'*') => blank(&mut out, comment_end(&chars, at)),
            digit if digit.is_ascii_digit() && !word => literal(&mut out, number_end(&chars, at)),
            space if space.is_whitespace() => blank(&mut out, at + 1),
            _ => plain(&mut out, &chars, at),
        };
    }
    let out = out.trim();
    if out.chars().count() <= SHOWN {
        return out.to_owned();
    }
    out.chars().take(SHOWN).chain(['…']).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Copies one character; returns the position after it.
fn plain(out: &mut String, chars: &[char], at: usize) -> usize {
    out.push(chars[at]);
    at + 1
}

/// Writes `?` in place of a literal that ends at `end`.
fn literal(out: &mut String, end: usize) -> usize {
    out.push('?');
    end
}

/// Writes one space in place of white space or a comment that ends at `end`.
fn blank(out: &mut String, end: usize) -> usize {
    if !out.ends_with(' ') {
        out.push(' ');
    }
    end
}

/// Copies a quoted identifier, which is a name and no literal.
fn quoted(out: &mut String, chars: &[char], at: usize) -> usize {
    let end = string_like_end(chars, at, '"');
    out.extend(&chars[at..end]);
    end
}

/// Returns whether the string is of the form `e'…'`, in which a backslash escapes the next character.
fn escapes(chars: &[char], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map(|index| chars[index]);
    matches!(before(1), Some('e' | 'E')) && !before(2).is_some_and(is_word)
}

/// Returns the end of a string in single quotes. If `escapes` is true, a backslash escapes the next character.
fn string_end(chars: &[char], at: usize, escapes: bool) -> usize {
    if !escapes {
        return string_like_end(chars, at, '\'');
    }
    let mut end = at + 1;
    while end < chars.len() {
        match chars[end] {
            '\\' => end += 2,
            '\'' if chars.get(end + 1) == Some(&'\'') => end += 2,
            '\'' => return end + 1,
            _ => end += 1,
        }
    }
    chars.len()
}

/// Returns the end of a string that starts with `quote`. A doubled `quote` is part of the string.
fn string_like_end(chars: &[char], at: usize, quote: char) -> usize {
    let mut end = at + 1;
    while end < chars.len() {
        if chars[end] != quote {
            end += 1;
        } else if chars.get(end + 1) == Some(&quote) {
            end += 2;
        } else {
            return end + 1;
        }
    }
    chars.len()
}

/// Returns the end of a string `$tag$ … $tag$`; `None` for a parameter such as `$1`, or if no string starts at `at`.
fn dollar_end(chars: &[char], at: usize) -> Option<usize> {
    let tag = chars[at + 1..].iter().position(|c| *c == '$')? + at + 2;
    let inside = &chars[at + 1..tag - 1];
    let is_tag = inside.iter().all(|c| c.is_alphanumeric() || *c == '_')
        && !inside.first().is_some_and(char::is_ascii_digit);
    if !is_tag {
        return None;
    }
    let tag = &chars[at..tag];
    let body = at + tag.len();
    let close = chars[body..]
        .windows(tag.len())
        .position(|window| window == tag);
    Some(close.map_or(chars.len(), |close| body + close + tag.len()))
}

/// Returns the end of a number.
fn number_end(chars: &[char], at: usize) -> usize {
    let more = |c: &char| c.is_ascii_alphanumeric() || *c == '.' || *c == '_';
    let length = chars[at..].iter().take_while(|c| more(c)).count();
    at + length
}

/// Returns the end of the line.
fn line_end(chars: &[char], at: usize) -> usize {
    let rest = chars[at..].iter().position(|c| *c == '\n');
    rest.map_or(chars.len(), |length| at + length)
}

/// Returns the end of a comment. Comments can be nested.
fn comment_end(chars: &[char], at: usize) -> usize {
    let (mut end, mut depth) = (at, 0);
    while end < chars.len() {
        match (chars[end], chars.get(end + 1)) {
            ('/', Some('*')) => {
                depth += 1;
                end += 2;
            }
            ('*', Some('/')) => {
                depth -= 1;
                end += 2;
                if depth == 0 {
                    return end;
                }
            }
            _ => end += 1,
        }
    }
    chars.len()
}

/// Returns a client's name without control characters, truncated. A client can choose any name.
pub(crate) fn printable(name: String) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
    if name.is_empty() {
        "a client without a name".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::redact_literals;

    #[test]
    fn no_literal_is_shown() {
        let cases = [
            (
                "update item set v = 'it''s' where id = 42",
                "update item set v = ? where id = ?",
            ),
            (
                "select e'a\\'b', $1, $x$ secret $x$, t1.c2",
                "select e?, $1, ?, t1.c2",
            ),
            (
                "insert into \"My 7\" values (1.5e3, -2)",
                "insert into \"My 7\" values (?, -?)",
            ),
            (
                "select 1 -- card 4111\n, /* a /* b */ 'c' */ 2",
                "select ? , ?",
            ),
            (
                "update item set v = 'cut in the mid",
                "update item set v = ?",
            ),
        ];
        for (query, shown) in cases {
            assert_eq!(redact_literals(query), shown);
        }
    }
}
