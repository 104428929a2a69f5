//! Every option of a request has a line in docs/request.md.

use plans::request::Options;

#[test]
fn every_option_of_a_request_has_a_line() {
    let page = std::fs::read_to_string(crate::top().join("docs/request.md")).unwrap();
    let schema = schemars::schema_for!(Options);
    let options = schema.as_value()["properties"].as_object().unwrap();
    assert!(options.len() > 15, "{options:?}");
    for name in options.keys() {
        let told = page
            .lines()
            .filter(|line| line.starts_with("| `"))
            .filter_map(|line| line.split('|').nth(1))
            .any(|first| first.contains(&format!("`{name}`")));
        assert!(told, "no line for {name}");
    }
}
