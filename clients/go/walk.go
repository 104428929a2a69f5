package shardwright

import "sort"

// The visit of a statement's tree: tables, conditions, inserted rows, and changed keys.

var queryNodes = map[string]bool{
	"SelectStmt": true, "InsertStmt": true, "UpdateStmt": true, "DeleteStmt": true, "MergeStmt": true,
}

// visit visits a node of the tree and what is below it.
func (w *walk) visit(visited any) {
	switch visited := visited.(type) {
	case []any:
		for _, entry := range visited {
			w.visit(entry)
		}
	case map[string]any:
		for _, name := range sortedNames(visited) {
			child := node(visited).child(name)
			switch {
			case queryNodes[name]:
				w.visitQuery(name, child)
			case name == "CopyStmt" || name == "TruncateStmt":
				w.inScope(func() { w.addTables(append(child.list("relations"), child.child("relation"))) })
			default:
				w.visit(visited[name])
			}
		}
	}
}

func sortedNames(of map[string]any) []string {
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func (w *walk) inScope(work func()) {
	w.scopes = append(w.scopes, &scope{})
	work()
	w.scopes = w.scopes[:len(w.scopes)-1]
}

func (w *walk) innermost() *scope { return w.scopes[len(w.scopes)-1] }

func (w *walk) visitQuery(name string, query node) {
	for _, entry := range query.child("withClause").list("ctes") {
		w.common[entry.child("CommonTableExpr").text("ctename")] = true
	}
	sources := []node{query.child("relation")}
	sources = append(sources, query.list("fromClause")...)
	sources = append(sources, query.list("usingClause")...)
	w.inScope(func() {
		w.addTables(append(sources, query.child("sourceRelation")))
		for _, source := range sources {
			w.addJoin(source)
		}
		w.addCondition(query.child("whereClause"))
		w.addCondition(query.child("joinCondition"))
		for _, field := range sortedNames(query) {
			// The sides of UNION, INTERSECT and EXCEPT are queries, without a node that says so.
			if field == "larg" || field == "rarg" {
				w.visitQuery(name, query.child(field))
			} else {
				w.visit(query[field])
			}
		}
		switch name {
		case "InsertStmt":
			w.addInsert(query)
		case "UpdateStmt":
			w.addChangedKeys(query)
		}
	})
}

func (w *walk) addTables(sources []node) {
	for _, source := range sources {
		if join := source.child("JoinExpr"); join != nil {
			w.addTables([]node{join.child("larg"), join.child("rarg")})
			continue
		}
		table := source
		if source.has("RangeVar") {
			table = source.child("RangeVar")
		}
		if table.has("relname") {
			w.addTable(table)
		}
	}
}

func (w *walk) addTable(named node) {
	name, schema := named.text("relname"), named.text("schemaname")
	table := &namedTable{name: name}
	if schema != "" || !w.common[name] {
		table.columns, table.fixedKey = w.tables.columnsOf(schema, name), w.tables.keyOf(schema, name)
	}
	w.named = append(w.named, table)
	alias := named.child("alias").text("aliasname")
	if alias == "" {
		alias = name
	}
	here := w.innermost()
	here.tables, here.aliases = append(here.tables, table), append(here.aliases, alias)
}

func (w *walk) addJoin(source node) {
	join := source.child("JoinExpr")
	if join == nil {
		return
	}
	w.addJoin(join.child("larg"))
	w.addJoin(join.child("rarg"))
	w.addCondition(join.child("quals"))
	for _, entry := range join.list("usingClause") {
		column, joined := entry.child("String").text("sval"), w.innermost().tables
		for at := 1; at < len(joined); at++ {
			w.unite(columnPlace{joined[at-1], column}, columnPlace{joined[at], column})
		}
	}
}

func (w *walk) addCondition(condition node) {
	boolean := condition.child("BoolExpr")
	switch boolean.text("boolop") {
	case "AND_EXPR":
		for _, part := range boolean.list("args") {
			w.addCondition(part)
		}
	case "OR_EXPR":
		w.addAlternatives(boolean.list("args"))
	case "":
		for place, values := range w.bindings(condition.child("A_Expr"), true) {
			w.fix(place, values)
		}
	}
}

// addAlternatives: a = 1 or a = 2 fixes a, as a in (1, 2) does. Columns that only an alternative compares are not equal.
func (w *walk) addAlternatives(parts []node) {
	var common map[columnPlace][]fixedValue
	for at, part := range parts {
		bound := w.bindings(part.child("A_Expr"), false)
		if at == 0 {
			common = bound
			continue
		}
		for place, values := range common {
			if bound[place] == nil {
				delete(common, place)
			} else {
				common[place] = append(values, bound[place]...)
			}
		}
	}
	for place, values := range common {
		w.fix(place, values)
	}
}

// bindings are the columns that an expression fixes. With unites, columns that it compares with each other are united.
func (w *walk) bindings(expression node, unites bool) map[columnPlace][]fixedValue {
	operator := ""
	for _, part := range expression.list("name") {
		operator += part.child("String").text("sval")
	}
	if operator != "=" {
		return nil
	}
	left, right := expression.child("lexpr").uncast(), expression.child("rexpr").uncast()
	if left.has("RowExpr") && right.has("RowExpr") {
		return w.rowBindings(expression, left.child("RowExpr").list("args"), right.child("RowExpr").list("args"), unites)
	}
	one, other := w.place(left), w.place(right)
	switch {
	case one.table != nil && other.table != nil:
		if unites {
			w.unite(one, other)
		}
	case one.table != nil:
		return bindingOf(one, valuesIn(expression.text("kind"), right))
	case other.table != nil:
		return bindingOf(other, valuesIn(expression.text("kind"), left))
	}
	return nil
}

func bindingOf(place columnPlace, values []fixedValue) map[columnPlace][]fixedValue {
	if values == nil {
		return nil
	}
	return map[columnPlace][]fixedValue{place: values}
}

func (w *walk) rowBindings(expression node, columns, values []node, unites bool) map[columnPlace][]fixedValue {
	all := map[columnPlace][]fixedValue{}
	for at := range columns {
		if at >= len(values) {
			break
		}
		single := node{
			"name": expression["name"], "kind": expression["kind"],
			"lexpr": map[string]any(columns[at]), "rexpr": map[string]any(values[at]),
		}
		for place, bound := range w.bindings(single, unites) {
			all[place] = bound
		}
	}
	return all
}
