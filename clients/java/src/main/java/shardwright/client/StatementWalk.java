package shardwright.client;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * Goes through the tree of a statement and its subqueries, and finds which keys it fixes for the tables of a map.
 *
 * <p>A table's key is fixed if each of its key columns is compared by equality with a parameter or a constant:
 * directly, through other columns that are equal, or as a value of INSERT. Functions and views are not analyzed.
 */
final class StatementWalk {
    private static final Set<String> QUERIES =
            Set.of("SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt");
    /** The sides of UNION, INTERSECT and EXCEPT are queries, without a node that says so. */
    private static final Set<String> SIDES = Set.of("larg", "rarg");

    private final KeyTables tables;
    private final Scopes scopes = new Scopes();
    private final Equalities equalities = new Equalities();
    private List<NamedTable> named = new ArrayList<>();
    /** The names of common table expressions. */
    private final Set<String> common = new HashSet<>();
    /** The new keys of rows whose key is updated. */
    private final List<KeyTables.Use> changed = new ArrayList<>();

    StatementWalk(KeyTables tables) {
        this.tables = tables;
    }

    /** The tables of the map, each with the values that the statement fixes. */
    List<KeyTables.Use> uses() {
        List<KeyTables.Use> uses = new ArrayList<>();
        for (NamedTable table : named) {
            if (!table.fixedKey().isEmpty()) {
                List<FixedValue> key = List.of(FixedValue.ofConstant(table.fixedKey()));
                uses.add(new KeyTables.Use(table.name(), List.of(key)));
            } else if (!table.columns().isEmpty()) {
                uses.add(useOf(table, column -> equalities.valuesOf(new ColumnPlace(table, column))));
            }
        }
        uses.addAll(changed);
        return uses;
    }

    private static KeyTables.Use useOf(NamedTable table, Function<String, Optional<List<FixedValue>>> valuesOf) {
        List<List<FixedValue>> keys = new ArrayList<>();
        for (String column : table.columns()) {
            Optional<List<FixedValue>> values = valuesOf.apply(column);
            if (values.isEmpty()) {
                return new KeyTables.Use(table.name(), null);
            }
            keys.add(values.get());
        }
        return new KeyTables.Use(table.name(), keys);
    }

    /** Visits a node of the tree and what is below it. */
    void visit(Object node) {
        if (node instanceof List<?> list) {
            list.forEach(this::visit);
        } else if (node instanceof Map<?, ?> fields) {
            fields.forEach((name, child) -> {
                if (QUERIES.contains(name)) {
                    visitQuery((String) name, Tree.of(child));
                } else if (name.equals("CopyStmt") || name.equals("TruncateStmt")) {
                    List<Tree> relations = Tree.of(child).list("relations");
                    relations.add(Tree.of(child).child("relation"));
                    scopes.in(() -> addTables(relations));
                } else {
                    visit(child);
                }
            });
        }
    }

    private void visitQuery(String name, Tree query) {
        for (Tree entry : query.child("withClause").list("ctes")) {
            common.add(entry.child("CommonTableExpr").text("ctename"));
        }
        List<Tree> sources = new ArrayList<>(List.of(query.child("relation")));
        sources.addAll(query.list("fromClause"));
        sources.addAll(query.list("usingClause"));
        scopes.in(() -> {
            addTables(sources);
            addTables(List.of(query.child("sourceRelation")));
            sources.forEach(this::addJoin);
            addCondition(query.child("whereClause"));
            addCondition(query.child("joinCondition"));
            query.fields().forEach((field, child) -> {
                if (SIDES.contains(field)) {
                    visitQuery(name, Tree.of(child));
                } else {
                    visit(Map.of(field, child));
                }
            });
            if (name.equals("InsertStmt")) {
                addInsert(query);
            } else if (name.equals("UpdateStmt")) {
                addChangedKeys(query);
            }
        });
    }

    private void addTables(List<Tree> sources) {
        for (Tree source : sources) {
            Tree table = source.has("RangeVar") ? source.child("RangeVar") : source;
            if (source.has("JoinExpr")) {
                Tree join = source.child("JoinExpr");
                addTables(List.of(join.child("larg"), join.child("rarg")));
            } else if (table.has("relname")) {
                addTable(table);
            }
        }
    }

    private void addTable(Tree node) {
        String name = node.text("relname");
        String schema = node.text("schemaname");
        boolean isOwn = !schema.isEmpty() || !common.contains(name);
        List<String> columns = isOwn ? tables.columnsOf(schema, name) : List.of();
        NamedTable table = new NamedTable(name, columns, isOwn ? tables.keyOf(schema, name) : "");
        named.add(table);
        String alias = node.child("alias").text("aliasname");
        scopes.add(alias.isEmpty() ? name : alias, table);
    }

    private void addJoin(Tree source) {
        if (!source.has("JoinExpr")) {
            return;
        }
        Tree join = source.child("JoinExpr");
        addJoin(join.child("larg"));
        addJoin(join.child("rarg"));
        addCondition(join.child("quals"));
        for (Tree entry : join.list("usingClause")) {
            String column = entry.child("String").text("sval");
            List<NamedTable> joined = scopes.innermost();
            for (int at = 1; at < joined.size(); at += 1) {
                equalities.unite(
                        new ColumnPlace(joined.get(at - 1), column), new ColumnPlace(joined.get(at), column));
            }
        }
    }

    private void addCondition(Tree condition) {
        Tree bool = condition.child("BoolExpr");
        switch (bool.text("boolop")) {
            case "AND_EXPR" -> bool.list("args").forEach(this::addCondition);
            case "OR_EXPR" -> addAlternatives(bool.list("args"));
            case "" -> bindings(condition.child("A_Expr"), true).forEach(equalities::fix);
            default -> {
                // A negation fixes nothing.
            }
        }
    }

    /**
     * {@code a = 1 or a = 2} fixes {@code a}, as {@code a in (1, 2)} does. Columns that only an alternative compares
     * are not equal.
     */
    private void addAlternatives(List<Tree> parts) {
        Map<ColumnPlace, List<FixedValue>> all = null;
        for (Tree part : parts) {
            Map<ColumnPlace, List<FixedValue>> found = bindings(part.child("A_Expr"), false);
            if (all == null) {
                all = new LinkedHashMap<>(found);
                continue;
            }
            all.keySet().retainAll(found.keySet());
            all.replaceAll((place, values) -> {
                List<FixedValue> longer = new ArrayList<>(values);
                longer.addAll(found.get(place));
                return longer;
            });
        }
        if (all != null) {
            all.forEach(equalities::fix);
        }
    }

    /** The columns that an expression fixes. With {@code unites}, columns that it compares are united. */
    private Map<ColumnPlace, List<FixedValue>> bindings(Tree expression, boolean unites) {
        StringBuilder operator = new StringBuilder();
        expression.list("name").forEach(part -> operator.append(part.child("String").text("sval")));
        if (!operator.toString().equals("=")) {
            return Map.of();
        }
        Tree left = expression.child("lexpr").uncast();
        Tree right = expression.child("rexpr").uncast();
        Map<ColumnPlace, List<FixedValue>> found = new HashMap<>();
        if (left.has("RowExpr") && right.has("RowExpr")) {
            List<Tree> columns = left.child("RowExpr").list("args");
            List<Tree> values = right.child("RowExpr").list("args");
            for (int at = 0; at < Math.min(columns.size(), values.size()); at += 1) {
                Tree column = columns.get(at).uncast();
                found.putAll(bindings(expression.text("kind"), column, values.get(at).uncast(), unites));
            }
            return found;
        }
        return bindings(expression.text("kind"), left, right, unites);
    }

    private Map<ColumnPlace, List<FixedValue>> bindings(String kind, Tree left, Tree right, boolean unites) {
        Optional<ColumnPlace> one = scopes.place(left);
        Optional<ColumnPlace> other = scopes.place(right);
        if (one.isPresent() && other.isPresent()) {
            if (unites) {
                equalities.unite(one.get(), other.get());
            }
            return Map.of();
        }
        Optional<List<FixedValue>> values = FixedValue.in(kind, one.isPresent() ? right : left);
        return one.or(() -> other).isPresent() && values.isPresent()
                ? Map.of(one.or(() -> other).get(), values.get())
                : Map.of();
    }

    private void addInsert(Tree query) {
        NamedTable table = scopes.innermost().get(0);
        Tree selected = query.child("selectStmt").child("SelectStmt");
        List<String> names = query.list("cols").stream().map(entry -> entry.child("ResTarget").text("name")).toList();
        for (String column : table.columns()) {
            int at = names.indexOf(column);
            if (at < 0) {
                continue;
            }
            ColumnPlace place = new ColumnPlace(table, column);
            List<Tree> values = new ArrayList<>();
            for (Tree row : selected.list("valuesLists")) {
                values.addAll(row.child("List").list("items").stream().skip(at).limit(1).toList());
            }
            FixedValue.inAll(values).ifPresent(fixed -> equalities.replace(place, fixed));
            List<Tree> targets = selected.list("targetList");
            if (at < targets.size()) {
                addSelected(place, targets.get(at).child("ResTarget").child("val").uncast(), selected);
            }
        }
    }

    /** INSERT … SELECT: the selected value is the key. */
    private void addSelected(ColumnPlace inserted, Tree value, Tree selected) {
        Optional<List<FixedValue>> values = FixedValue.in("AEXPR_OP", value);
        if (values.isPresent()) {
            equalities.replace(inserted, values.get());
            return;
        }
        List<NamedTable> visited = named;
        named = new ArrayList<>();
        Deque<ColumnPlace> found = new ArrayDeque<>();
        scopes.in(() -> {
            addTables(selected.list("fromClause"));
            scopes.place(value).ifPresent(found::add);
        });
        List<NamedTable> copies = named;
        named = visited;
        for (ColumnPlace place : found) {
            if (!copies.contains(place.table())) {
                equalities.unite(inserted, place);
                continue;
            }
            // The same table of the visited subquery, by its position.
            for (int at = visited.size() - 1; at >= 0; at -= 1) {
                NamedTable original = visited.get(at);
                if (original.name().equals(place.table().name()) && original != inserted.table()) {
                    equalities.unite(inserted, new ColumnPlace(original, place.column()));
                    break;
                }
            }
        }
    }

    /** UPDATE of a key column: the row gets another key. */
    private void addChangedKeys(Tree query) {
        NamedTable table = scopes.innermost().get(0);
        Map<String, Tree> changes = new HashMap<>();
        for (Tree entry : query.list("targetList")) {
            changes.put(entry.child("ResTarget").text("name"), entry.child("ResTarget").child("val"));
        }
        if (table.columns().stream().anyMatch(changes::containsKey)) {
            changed.add(useOf(table, column -> {
                Tree value = changes.get(column);
                return value == null
                        ? equalities.valuesOf(new ColumnPlace(table, column))
                        : FixedValue.in("AEXPR_OP", value.uncast());
            }));
        }
    }
}
