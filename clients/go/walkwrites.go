package shardwright

// Keys of rows that a statement writes.

func (w *walk) addInsert(query node) {
	table := w.innermost().tables[0]
	selected := query.child("selectStmt").child("SelectStmt")
	positions := map[string]int{}
	for at, entry := range query.list("cols") {
		positions[entry.child("ResTarget").text("name")] = at
	}
	for _, column := range table.columns {
		at, isNamed := positions[column]
		if !isNamed {
			continue
		}
		place := columnPlace{table, column}
		if values := insertedValues(selected.list("valuesLists"), at); values != nil {
			w.values[place] = values
		}
		if targets := selected.list("targetList"); at < len(targets) {
			w.addSelected(place, targets[at].child("ResTarget").child("val").uncast(), selected)
		}
	}
}

// insertedValues are the values of a column in all rows; nil if one of them is not fixed.
func insertedValues(rows []node, at int) []fixedValue {
	var values []fixedValue
	for _, row := range rows {
		items := row.child("List").list("items")
		if at >= len(items) {
			continue
		}
		found := valuesIn("AEXPR_OP", items[at].uncast())
		if found == nil {
			return nil
		}
		values = append(values, found...)
	}
	return values
}

// addSelected is for INSERT … SELECT: the selected value is the key.
func (w *walk) addSelected(inserted columnPlace, value, selected node) {
	if values := valuesIn("AEXPR_OP", value); values != nil {
		w.values[inserted] = values
		return
	}
	var place columnPlace
	known := len(w.named)
	w.inScope(func() {
		w.addTables(selected.list("fromClause"))
		place = w.place(value)
	})
	copies := w.named[known:]
	w.named = w.named[:known]
	if isOneOf(copies, place.table) {
		place.table = w.original(place.table.name, inserted.table)
	}
	if place.table != nil {
		w.unite(inserted, place)
	}
}

// original is the table of the visited subquery, by its name and position.
func (w *walk) original(name string, except *namedTable) *namedTable {
	for at := len(w.named) - 1; at >= 0; at-- {
		if w.named[at].name == name && w.named[at] != except {
			return w.named[at]
		}
	}
	return nil
}

func isOneOf(tables []*namedTable, wanted *namedTable) bool {
	for _, table := range tables {
		if table == wanted {
			return true
		}
	}
	return false
}

// addChangedKeys is for UPDATE of a key column: the row gets another key.
func (w *walk) addChangedKeys(query node) {
	table := w.innermost().tables[0]
	changes, isKeyChanged := map[string]node{}, false
	for _, entry := range query.list("targetList") {
		target := entry.child("ResTarget")
		changes[target.text("name")] = target.child("val")
	}
	for _, column := range table.columns {
		isKeyChanged = isKeyChanged || changes[column] != nil
	}
	if !isKeyChanged {
		return
	}
	w.changed = append(w.changed, useOf(table, func(column string) []fixedValue {
		if value, isChanged := changes[column]; isChanged {
			return valuesIn("AEXPR_OP", value.uncast())
		}
		return w.valuesOf(columnPlace{table, column})
	}))
}
