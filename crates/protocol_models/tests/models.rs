//! Every property holds for the correct protocol, and every mutant violates its property.

#[test]
fn every_property_holds_and_every_mutant_is_killed() {
    let report = protocol_models::run(protocol_models::ModelSize::Short, 2);
    println!("{report}");
    assert!(report.is_good(), "{report}");
}
