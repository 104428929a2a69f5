package shardwright

import (
	"encoding/json"
	"reflect"
)

// What the analysis of a statement returns, and the values in the trees of PostgreSQL's parser.

// fixedValue is a parameter, or a constant of the statement.
type fixedValue struct {
	// parameter is its number, from 1 on; 0 for a constant.
	parameter int
	// isArray says that each element of the parameter is a value.
	isArray  bool
	constant any
}

// tableUse is a table of the map in a statement.
type tableUse struct {
	table string
	// keys has for each key column its possible values; nil: the statement does not fix the key.
	keys [][]fixedValue
}

// tables are those of a map with their key columns; for maps of schemas and groups, the key of each table.
type tables struct {
	columns   map[string]Columns
	groups    map[string]string
	isSchemas bool
}

func tablesOf(settings Settings) tables {
	made := tables{settings.Tables, map[string]string{}, settings.KeyedBy == "schema"}
	for group, members := range settings.Groups {
		for _, table := range members {
			made.groups[table] = group
		}
	}
	return made
}

// columnsOf are the key columns of a table; nil if it is not a table of the map.
func (t tables) columnsOf(schema, table string) Columns {
	if columns := t.columns[schema+"."+table]; columns != nil {
		return columns
	}
	return t.columns[table]
}

// keyOf is the key of a whole table; empty if it has none.
func (t tables) keyOf(schema, table string) string {
	if t.isSchemas {
		return schema
	}
	if group := t.groups[schema+"."+table]; group != "" {
		return group
	}
	return t.groups[table]
}

// node is a node of the parser's tree.
type node map[string]any

// child is a node below; empty if there is none.
func (n node) child(name string) node {
	found, _ := n[name].(map[string]any)
	return found
}

func (n node) text(name string) string {
	found, _ := n[name].(string)
	return found
}

func (n node) number(name string) int {
	found, _ := n[name].(json.Number)
	number, _ := found.Int64()
	return int(number)
}

// list are the nodes of a list below.
func (n node) list(name string) []node {
	entries, _ := n[name].([]any)
	nodes := make([]node, len(entries))
	for at, entry := range entries {
		nodes[at], _ = entry.(map[string]any)
	}
	return nodes
}

func (n node) has(name string) bool { return n[name] != nil }

func (n node) uncast() node {
	for n.has("TypeCast") {
		n = n.child("TypeCast").child("arg")
	}
	return n
}

// valuesIn are the values of the other side of an equality; nil if it has something else than parameters and constants.
func valuesIn(kind string, side node) []fixedValue {
	if side.has("A_ArrayExpr") || side.has("List") {
		return valuesInList(append(side.child("List").list("items"), side.child("A_ArrayExpr").list("elements")...))
	}
	if side.has("ParamRef") {
		number := side.child("ParamRef").number("number")
		return []fixedValue{{parameter: number, isArray: kind == "AEXPR_OP_ANY"}}
	}
	constant := side.child("A_Const")
	if constant.has("ival") {
		return []fixedValue{{constant: constant.child("ival").number("ival")}}
	}
	// An integer beyond 32 bits is a numeric for the parser.
	text := constant.child("sval").text("sval") + constant.child("fval").text("fval")
	if text == "" {
		return nil
	}
	return []fixedValue{{constant: text}}
}

func valuesInList(elements []node) []fixedValue {
	var values []fixedValue
	for _, element := range elements {
		found := valuesIn("AEXPR_OP", element.uncast())
		if found == nil {
			return nil
		}
		values = append(values, found...)
	}
	return values
}

// keysIn are the keys of a statement. Of a composite key with lists, values at the same position belong together.
func keysIn(columns [][]fixedValue, parameters []any) []any {
	lists, longest, shortest := make([][]any, len(columns)), 0, -1
	for at, values := range columns {
		for _, value := range values {
			lists[at] = append(lists[at], value.in(parameters)...)
		}
		if len(lists[at]) > longest {
			longest = len(lists[at])
		}
	}
	for at, found := range lists {
		for len(found) == 1 && len(lists[at]) < longest {
			lists[at] = append(lists[at], found[0])
		}
		if shortest < 0 || len(lists[at]) < shortest {
			shortest = len(lists[at])
		}
	}
	keys := make([]any, shortest)
	for at := range keys {
		key := make([]any, len(lists))
		for column := range lists {
			key[column] = lists[column][at]
		}
		keys[at] = key
	}
	return keys
}

// in are the values, with those of the parameters.
func (v fixedValue) in(parameters []any) []any {
	if v.parameter == 0 {
		return []any{v.constant}
	}
	if v.parameter > len(parameters) {
		return nil
	}
	passed := parameters[v.parameter-1]
	list := reflect.ValueOf(passed)
	if !v.isArray || list.Kind() != reflect.Slice {
		return []any{passed}
	}
	elements := make([]any, list.Len())
	for at := range elements {
		elements[at] = list.Index(at).Interface()
	}
	return elements
}
