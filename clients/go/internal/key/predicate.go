package key

import (
	"fmt"
	"strings"
)

// The SQL of a set of keys: the conditions that Shardwright itself uses in guards, copies and comparisons.

// ofRange is the condition for a range of keys.
func ofRange(types []Type, columns []string, interval Interval) string {
	var parts []string
	if !interval.NoFrom {
		parts = append(parts, comparison(types, columns, ">=", interval.From))
	}
	if !interval.NoTo {
		parts = append(parts, comparison(types, columns, "<", interval.To))
	}
	if parts == nil {
		return "(true)"
	}
	return "(" + strings.Join(parts, " and ") + ")"
}

// ofBuckets are the conditions for ranges of virtual shards.
func ofBuckets(types []Type, columns []string, of int64, ranges []Interval) []string {
	bucket := fmt.Sprintf("(%s operator(pg_catalog.&) %d::pg_catalog.int8)", hashSQL(types, columns), of-1)
	conditions := make([]string, len(ranges))
	for at, interval := range ranges {
		conditions[at] = fmt.Sprintf("(%s operator(pg_catalog.>=) %d and %s operator(pg_catalog.<) %d)",
			bucket, interval.From.number, bucket, interval.To.number)
	}
	return conditions
}

// ofList is the condition for single keys.
func ofList(types []Type, columns []string, keys []Key) string {
	kind := types[0]
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	elements := make([]string, len(keys))
	for at, one := range keys {
		elements[at] = `"` + escape.Replace(one.Texts(types)[0]) + `"`
	}
	array := literal("{" + strings.Join(elements, ",") + "}")
	return fmt.Sprintf("(%s operator(pg_catalog.=) any (%s::pg_catalog.%s[]))",
		comparable(kind, columns[0]), array, kind.catalogName(0))
}

func comparison(types []Type, columns []string, operator string, end Key) string {
	left, right := make([]string, len(types)), make([]string, len(types))
	for at, value := range end.columns(types) {
		kind := types[at]
		left[at] = comparable(kind, columns[at])
		right[at] = literal(value.text(kind)) + "::pg_catalog." + kind.catalogName(value.number)
	}
	if len(types) == 1 {
		return fmt.Sprintf("%s operator(pg_catalog.%s) %s", left[0], operator, right[0])
	}
	return fmt.Sprintf("row(%s) operator(pg_catalog.%s) row(%s)",
		strings.Join(left, ", "), operator, strings.Join(right, ", "))
}

func comparable(kind Type, column string) string {
	if kind == Text {
		return "(" + column + `::pg_catalog.text collate pg_catalog."C")`
	}
	return column
}

func hashSQL(types []Type, columns []string) string {
	if len(types) > 1 {
		compared := make([]string, len(types))
		for at, kind := range types {
			compared[at] = comparable(kind, columns[at])
		}
		return fmt.Sprintf("pg_catalog.hash_record_extended(row(%s), 0)", strings.Join(compared, ", "))
	}
	kind, column := types[0], columns[0]
	switch {
	case kind.isInteger():
		return fmt.Sprintf("pg_catalog.hashint8extended(%s::pg_catalog.int8, 0)", column)
	case kind == Text:
		return fmt.Sprintf(`pg_catalog.hashtextextended(%s::pg_catalog.text collate pg_catalog."C", 0)`, column)
	case kind == UUID:
		return fmt.Sprintf("pg_catalog.uuid_hash_extended(%s, 0)", column)
	case kind == Bytea:
		// The hash function of bytea itself exists in SQL only since PostgreSQL 18.
		return fmt.Sprintf(`pg_catalog.hashtextextended(pg_catalog.encode(%s, 'hex') collate pg_catalog."C", 0)`, column)
	default:
		return fmt.Sprintf("pg_catalog.hash_record_extended(row(%s), 0)", column)
	}
}

func literal(text string) string {
	quoted := strings.ReplaceAll(text, "'", "''")
	if strings.Contains(text, `\`) {
		return "e'" + strings.ReplaceAll(quoted, `\`, `\\`) + "'"
	}
	return "'" + quoted + "'"
}
