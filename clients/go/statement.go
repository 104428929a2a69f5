package shardwright

import (
	"encoding/json"
	"strings"
)

// Finds which keys a statement fixes for the tables of a map.
//
// PostgreSQL's own parser reads the statement. A table's key is fixed if each of its key columns is compared by
// equality with a parameter or a constant: directly, through other columns that are equal, or as a value of INSERT.
// Functions and views are not analyzed.

// statement is what the parser found.
type statement struct {
	// normalized is the statement without its constants.
	normalized  string
	fingerprint string
	uses        []tableUse
}

// analyze analyzes a statement with parameters $1, $2, and so on. It returns nil if the parser refuses it.
func analyze(parser Parser, sql string, tables tables) *statement {
	text, err := parser.ParseToJSON(sql)
	if err != nil {
		return nil
	}
	var tree node
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&tree) != nil {
		return nil
	}
	analyzed := &statement{}
	for _, entry := range tree.list("stmts") {
		walked := newWalk(tables)
		walked.visit(map[string]any(entry.child("stmt")))
		analyzed.uses = append(analyzed.uses, walked.uses()...)
	}
	if analyzed.normalized, err = parser.Normalize(sql); err != nil {
		return nil
	}
	if analyzed.fingerprint, err = parser.Fingerprint(sql); err != nil {
		return nil
	}
	return analyzed
}

// namedTable is a table that a query names.
type namedTable struct {
	name string
	// columns are the key columns; nil for a table that is not the map's.
	columns  Columns
	fixedKey string
}

// scope has the tables that one level of a query names, with their aliases.
type scope struct {
	tables  []*namedTable
	aliases []string
}

// columnPlace is a column of a table.
type columnPlace struct {
	table  *namedTable
	column string
}

// walk goes through a statement and its subqueries, and collects tables and equalities.
type walk struct {
	tables tables
	scopes []*scope
	named  []*namedTable
	// common are the names of common table expressions.
	common map[string]bool
	equal  map[columnPlace][]columnPlace
	values map[columnPlace][]fixedValue
	// changed are the new keys of rows whose key is updated.
	changed []tableUse
}

func newWalk(tables tables) *walk {
	return &walk{
		tables: tables, common: map[string]bool{},
		equal: map[columnPlace][]columnPlace{}, values: map[columnPlace][]fixedValue{},
	}
}

// uses are the tables of the map, each with the values that the statement fixes.
func (w *walk) uses() []tableUse {
	var uses []tableUse
	for _, table := range w.named {
		switch {
		case table.fixedKey != "":
			uses = append(uses, tableUse{table.name, [][]fixedValue{{{constant: table.fixedKey}}}})
		case table.columns != nil:
			uses = append(uses, useOf(table, func(column string) []fixedValue {
				return w.valuesOf(columnPlace{table, column})
			}))
		}
	}
	return append(uses, w.changed...)
}

func useOf(table *namedTable, valuesOf func(column string) []fixedValue) tableUse {
	keys := make([][]fixedValue, len(table.columns))
	for at, column := range table.columns {
		if keys[at] = valuesOf(column); keys[at] == nil {
			return tableUse{table.name, nil}
		}
	}
	return tableUse{table.name, keys}
}

// valuesOf are the values of a column, or of one that is equal to it.
func (w *walk) valuesOf(place columnPlace) []fixedValue {
	waiting, passed := []columnPlace{place}, map[columnPlace]bool{place: true}
	for len(waiting) > 0 {
		here := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if values := w.values[here]; values != nil {
			return values
		}
		for _, there := range w.equal[here] {
			if !passed[there] {
				passed[there] = true
				waiting = append(waiting, there)
			}
		}
	}
	return nil
}

// place is the column of a table that a node names; without a table if it names none.
func (w *walk) place(named node) columnPlace {
	var names []string
	for _, entry := range named.child("ColumnRef").list("fields") {
		name := entry.child("String").text("sval")
		if name == "" {
			return columnPlace{}
		}
		names = append(names, name)
	}
	if names == nil {
		return columnPlace{}
	}
	column := names[len(names)-1]
	for at := len(w.scopes) - 1; at >= 0; at-- {
		var owner *namedTable
		if len(names) > 1 {
			owner = w.scopes[at].byAlias(names[len(names)-2])
		} else {
			owner = w.scopes[at].byColumn(column)
		}
		if owner != nil {
			return columnPlace{owner, column}
		}
	}
	return columnPlace{}
}

func (s *scope) byAlias(alias string) *namedTable {
	// The last one of a name counts.
	for at := len(s.aliases) - 1; at >= 0; at-- {
		if s.aliases[at] == alias {
			return s.tables[at]
		}
	}
	return nil
}

// byColumn is the table with this key column, or the only table.
func (s *scope) byColumn(column string) *namedTable {
	for _, table := range s.tables {
		for _, own := range table.columns {
			if own == column {
				return table
			}
		}
	}
	if len(s.tables) == 1 {
		return s.tables[0]
	}
	return nil
}

func (w *walk) unite(one, other columnPlace) {
	w.equal[one] = append(w.equal[one], other)
	w.equal[other] = append(w.equal[other], one)
}

func (w *walk) fix(place columnPlace, values []fixedValue) {
	if w.values[place] == nil {
		w.values[place] = values
	}
}
