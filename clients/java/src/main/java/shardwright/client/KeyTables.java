package shardwright.client;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The tables of a map with their key columns; for maps of schemas and groups, the key of each table. */
final class KeyTables {
    /**
     * A table of the map in a statement.
     *
     * @param table its name
     * @param keys for each key column its possible values; null: the statement does not fix the key
     */
    record Use(String table, List<List<FixedValue>> keys) {}

    private final Map<String, List<String>> columns = new HashMap<>();
    private final Map<String, String> groups = new HashMap<>();
    private final boolean isOfSchemas;

    /** {@code settings} are those in the JSON of a map. */
    KeyTables(Map<?, ?> settings) {
        Tree tree = Tree.of(settings);
        tree.child("tables").fields().forEach((table, of) -> columns.put((String) table, names(of)));
        tree.child("groups").fields().forEach((group, of) -> {
            names(of).forEach(table -> groups.put(table, (String) group));
        });
        isOfSchemas = tree.text("keyed_by").equals("schema");
    }

    private static List<String> names(Object value) {
        List<String> names = new ArrayList<>();
        (value instanceof List<?> list ? list : List.of(value)).forEach(name -> names.add(String.valueOf(name)));
        return names;
    }

    /** The key columns of a table; empty if it is not a table of the map. {@code schema} may be empty. */
    List<String> columnsOf(String schema, String table) {
        List<String> found = columns.get(schema + "." + table);
        return found != null ? found : columns.getOrDefault(table, List.of());
    }

    /** The key of a whole table; empty if it has none. */
    String keyOf(String schema, String table) {
        if (isOfSchemas) {
            return schema;
        }
        String found = groups.get(schema + "." + table);
        return found != null ? found : groups.getOrDefault(table, "");
    }
}
