package shardwright.client;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The tables that each level of a query names, by their aliases. The innermost level comes first. */
final class Scopes {
    private final Deque<Map<String, NamedTable>> levels = new ArrayDeque<>();

    /** Does something in a new level. */
    void in(Runnable work) {
        levels.push(new LinkedHashMap<>());
        work.run();
        levels.pop();
    }

    void add(String alias, NamedTable table) {
        levels.element().put(alias, table);
    }

    /** The tables of the innermost level. */
    List<NamedTable> innermost() {
        return new ArrayList<>(levels.element().values());
    }

    /** The column of a table that a node names. */
    Optional<ColumnPlace> place(Tree node) {
        List<Tree> fields = node.child("ColumnRef").list("fields");
        List<String> names = fields.stream().map(field -> field.child("String").text("sval")).toList();
        if (names.isEmpty() || names.contains("")) {
            return Optional.empty();
        }
        String column = names.get(names.size() - 1);
        for (Map<String, NamedTable> level : levels) {
            if (names.size() > 1) {
                NamedTable table = level.get(names.get(names.size() - 2));
                if (table != null) {
                    return Optional.of(new ColumnPlace(table, column));
                }
                continue;
            }
            for (NamedTable table : level.values()) {
                if (table.columns().contains(column)) {
                    return Optional.of(new ColumnPlace(table, column));
                }
            }
            if (level.size() == 1) {
                return Optional.of(new ColumnPlace(level.values().iterator().next(), column));
            }
        }
        return Optional.empty();
    }
}
