//! Finds the known name that was probably meant by an unknown one.

/// Returns the known name that differs from `name` only by a spelling mistake or by case, if there is one.
#[must_use]
pub fn nearest_name<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = name.to_lowercase();
    // A short name may differ in one letter, a long one in a third of its letters.
    let max_distance = (typed.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|known| {
            let distance = strsim::damerau_levenshtein(&typed, &known.to_lowercase());
            (distance, known)
        })
        .filter(|(distance, known)| *distance <= max_distance && *distance < known.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::nearest_name;

    #[test]
    fn a_misspelled_name_is_found_and_another_word_is_not() {
        let known = ["source", "into", "operation", "s1", "s2"];
        for (name, meant) in [
            ("opperation", Some("operation")),
            ("form", None),
            ("sorce", Some("source")),
            ("S2", Some("s2")),
            ("target", None),
            ("x", None),
        ] {
            assert_eq!(nearest_name(name, known), meant, "{name}");
        }
    }
}
