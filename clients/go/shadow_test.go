package shardwright

import (
	"reflect"
	"testing"
)

func TestValuesAtTheSamePositionOfListsAreOneKey(t *testing.T) {
	constant := func(value any) fixedValue { return fixedValue{constant: value} }
	for _, one := range []struct {
		columns    [][]fixedValue
		parameters []any
		keys       []any
	}{
		{[][]fixedValue{{constant(1), constant(2)}}, nil, []any{[]any{1}, []any{2}}},
		{[][]fixedValue{{{parameter: 1, isArray: true}}}, []any{[]int64{3, 4}}, []any{[]any{int64(3)}, []any{int64(4)}}},
		{[][]fixedValue{{{parameter: 2}}, {constant("x"), constant("y")}}, []any{1, 2}, []any{[]any{2, "x"}, []any{2, "y"}}},
		{[][]fixedValue{{{parameter: 3}}}, []any{1}, []any{}},
	} {
		if keys := keysIn(one.columns, one.parameters); !reflect.DeepEqual(keys, one.keys) {
			t.Errorf("%v is not %v", keys, one.keys)
		}
	}
}

func TestTablesOfGroupsAndSchemasHaveAKey(t *testing.T) {
	groups := tablesOf(Settings{KeyedBy: "group", Groups: map[string][]string{"billing": {"invoice", "app.payment"}}})
	if groups.keyOf("", "invoice") != "billing" || groups.keyOf("app", "payment") != "billing" || groups.keyOf("", "x") != "" {
		t.Error(groups)
	}
	schemas := tablesOf(Settings{KeyedBy: "schema"})
	if schemas.keyOf("tenant_1", "orders") != "tenant_1" || schemas.keyOf("", "orders") != "" {
		t.Error(schemas)
	}
}
