package shardwright.client;

import java.util.List;

/** A table that a query names. The same name at two places is two tables. */
final class NamedTable {
    private final String name;
    private final List<String> columns;
    private final String fixedKey;

    NamedTable(String name, List<String> columns, String fixedKey) {
        this.name = name;
        this.columns = columns;
        this.fixedKey = fixedKey;
    }

    String name() {
        return name;
    }

    /** The key columns; empty for a table that is not the map's. */
    List<String> columns() {
        return columns;
    }

    /** The key of the whole table; empty if it has none. */
    String fixedKey() {
        return fixedKey;
    }
}
