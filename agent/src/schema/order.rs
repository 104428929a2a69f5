//! Sorts objects into an order in which they can be created: first by dependency, then by kind and name.

use std::collections::BTreeSet;

use super::reader::SchemaGraph;

/// Returns the indexes of the objects in an order in which they can be created.
///
/// # Errors
/// Returns the indexes of objects that depend on each other, and of their dependents.
pub(super) fn creation(found: &SchemaGraph) -> Result<Vec<usize>, Vec<usize>> {
    let mut open: Vec<usize> = found.needs.iter().map(BTreeSet::len).collect();
    let mut dependents = vec![Vec::new(); found.objects.len()];
    for (place, needs) in found.needs.iter().enumerate() {
        for needed in needs {
            dependents[*needed].push(place);
        }
    }
    let rank = |place: usize| {
        let object = &found.objects[place];
        (
            object.kind,
            &object.schema,
            &object.name,
            &object.create,
            place,
        )
    };
    let ready = open.iter().enumerate().filter(|(_, needs)| **needs == 0);
    let mut ready: BTreeSet<_> = ready.map(|(place, _)| rank(place)).collect();
    let mut order = Vec::with_capacity(found.objects.len());
    while let Some((.., place)) = ready.pop_first() {
        order.push(place);
        for dependent in &dependents[place] {
            open[*dependent] -= 1;
            if open[*dependent] == 0 {
                ready.insert(rank(*dependent));
            }
        }
    }
    if order.len() == found.objects.len() {
        return Ok(order);
    }
    let stuck = open.iter().enumerate().filter(|(_, needs)| **needs > 0);
    Err(stuck.map(|(place, _)| place).collect())
}

#[cfg(test)]
mod tests {
    use super::super::kind::SchemaObjectKind;
    use super::super::reader::SchemaObject;
    use super::*;
    use crate::postgres::archive::ObjectId;

    fn found(objects: &[(SchemaObjectKind, &str, &[usize])]) -> SchemaGraph {
        let object = |(kind, name, _): &(SchemaObjectKind, &str, &[usize])| SchemaObject {
            id: ObjectId { class: 0, oid: 0 },
            kind: *kind,
            schema: String::new(),
            name: (*name).to_owned(),
            create: String::new(),
            then: Vec::new(),
            finds_rows: false,
        };
        SchemaGraph {
            objects: objects.iter().map(object).collect(),
            needs: objects
                .iter()
                .map(|(_, _, needs)| needs.iter().copied().collect())
                .collect(),
        }
    }

    #[test]
    fn what_is_needed_comes_first_else_kinds_and_names_decide() {
        let found = found(&[
            (SchemaObjectKind::View, "b", &[3]),
            (SchemaObjectKind::Routine, "f", &[2]),
            (SchemaObjectKind::Table, "t", &[]),
            (SchemaObjectKind::View, "z", &[]),
        ]);
        assert_eq!(creation(&found), Ok(vec![2, 1, 3, 0]));
    }

    #[test]
    fn objects_that_need_each_other_are_named() {
        let found = found(&[
            (SchemaObjectKind::Routine, "f", &[1]),
            (SchemaObjectKind::Table, "t", &[0]),
            (SchemaObjectKind::Table, "u", &[]),
        ]);
        assert_eq!(creation(&found), Err(vec![0, 1]));
    }
}
