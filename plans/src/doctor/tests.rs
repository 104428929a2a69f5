//! Tests of the registry: numbers and names are unique, and every finding has its texts, in short sentences.

use super::{FindingCode, GROUPS, find};

fn all() -> impl Iterator<Item = &'static FindingCode> {
    GROUPS.iter().flat_map(|group| group.codes)
}

#[test]
fn numbers_rise_and_a_group_shares_its_first_two_digits() {
    let numbers: Vec<&str> = all().map(|code| code.sw).collect();
    assert!(
        numbers.is_sorted_by(|a, b| a < b),
        "out of order: {numbers:?}"
    );
    for group in GROUPS {
        let first = &group.codes[0].sw[..4];
        for code in group.codes {
            assert!(code.sw.starts_with(first), "{}", code.sw);
            assert!(
                code.sw.len() == 6 && code.sw[2..].bytes().all(|b| b.is_ascii_digit()),
                "{}",
                code.sw
            );
        }
    }
}

#[test]
fn a_name_is_found_by_itself_and_by_its_number() {
    for code in all() {
        assert_eq!(find(code.name), Some(code));
        assert_eq!(find(code.sw), Some(code));
        let (noun, reason) = code.name.split_once('.').expect("noun.reason");
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        assert!(plain(noun) && plain(reason), "{}", code.name);
    }
    assert_eq!(find("no.such"), None);
}

#[test]
fn every_finding_has_a_title_a_problem_and_a_remedy() {
    for code in all() {
        for text in [code.title, code.wrong, code.remedy] {
            assert!(
                !text.trim().is_empty() && text == text.trim(),
                "{}",
                code.sw
            );
        }
        assert!(!code.title.ends_with('.'), "{}", code.sw);
        assert!(code.wrong.ends_with('.'), "{}", code.sw);
        assert!(code.remedy.ends_with('.'), "{}", code.sw);
    }
}

/// The maximum number of words in a sentence. A statement in backticks counts as one word.
const MAX_WORDS: usize = 25;

#[test]
fn no_sentence_is_long() {
    for code in all() {
        for text in [code.wrong, code.remedy] {
            let parts = text.split('`').enumerate();
            let prose: String = parts
                .map(|(index, part)| if index % 2 == 1 { "statement" } else { part })
                .collect();
            for sentence in prose.split(". ") {
                let words = sentence.split_whitespace().count();
                assert!(words <= MAX_WORDS, "{}, {words} words: {sentence}", code.sw);
            }
        }
    }
}
