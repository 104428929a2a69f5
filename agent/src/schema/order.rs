//! Sorts objects into an order in which they can be created: first by dependency, then by kind and name.

use std::collections::BTreeSet;

use super::reader::SchemaGraph;

/// Returns the indexes of the objects in an order in which they can be created.
///
/// # Errors
/// Returns the indexes of objects that depend on each other, and of their dependents.
pub(super) fn sort_for_creation(graph: &SchemaGraph) -> Result<Vec<usize>, Vec<usize>> {
    // For each object, the number of its dependencies that are not in `order` yet.
    let mut missing: Vec<usize> = graph.needs.iter().map(BTreeSet::len).collect();
    let mut dependents = vec![Vec::new(); graph.objects.len()];
    for (index, needs) in graph.needs.iter().enumerate() {
        for needed in needs {
            dependents[*needed].push(index);
        }
    }
    let rank = |index: usize| {
        let object = &graph.objects[index];
        (
            object.kind,
            &object.schema,
            &object.name,
            &object.create,
            index,
        )
    };
    let ready = missing.iter().enumerate().filter(|(_, count)| **count == 0);
    let mut ready: BTreeSet<_> = ready.map(|(index, _)| rank(index)).collect();
    let mut order = Vec::with_capacity(graph.objects.len());
    while let Some((.., index)) = ready.pop_first() {
        order.push(index);
        for dependent in &dependents[index] {
            missing[*dependent] -= 1;
            if missing[*dependent] == 0 {
                ready.insert(rank(*dependent));
            }
        }
    }
    if order.len() == graph.objects.len() {
        return Ok(order);
    }
    let unordered = missing.iter().enumerate().filter(|(_, count)| **count > 0);
    Err(unordered.map(|(index, _)| index).collect())
}

#[cfg(test)]
mod tests {
    use super::super::kind::SchemaObjectKind;
    use super::super::reader::SchemaObject;
    use super::*;
    use crate::postgres::archive::ObjectId;

    fn graph(objects: &[(SchemaObjectKind, &str, &[usize])]) -> SchemaGraph {
        let object = |(kind, name, _): &(SchemaObjectKind, &str, &[usize])| SchemaObject {
            id: ObjectId { class: 0, oid: 0 },
            kind: *kind,
            schema: String::new(),
            name: (*name).to_owned(),
            create: String::new(),
            further: Vec::new(),
            identifies_rows: false,
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
    fn objects_are_sorted_by_dependency_then_by_kind_and_name() {
        let graph = graph(&[
            (SchemaObjectKind::View, "b", &[3]),
            (SchemaObjectKind::Routine, "f", &[2]),
            (SchemaObjectKind::Table, "t", &[]),
            (SchemaObjectKind::View, "z", &[]),
        ]);
        assert_eq!(sort_for_creation(&graph), Ok(vec![2, 1, 3, 0]));
    }

    #[test]
    fn objects_that_need_each_other_are_the_error() {
        let graph = graph(&[
            (SchemaObjectKind::Routine, "f", &[1]),
            (SchemaObjectKind::Table, "t", &[0]),
            (SchemaObjectKind::Table, "u", &[]),
        ]);
        assert_eq!(sort_for_creation(&graph), Err(vec![0, 1]));
    }
}
