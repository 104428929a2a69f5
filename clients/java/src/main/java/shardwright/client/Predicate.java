package shardwright.client;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** The SQL of a set of keys: the conditions that Shardwright itself uses in guards, copies and comparisons. */
final class Predicate {
    private Predicate() {}

    /** The condition for a range of keys. */
    static String ofRange(List<KeyType> types, List<String> columns, Interval<Key> range) {
        List<String> parts = new ArrayList<>();
        if (range.start() != null) {
            parts.add(comparison(types, columns, ">=", range.start()));
        }
        if (range.end() != null) {
            parts.add(comparison(types, columns, "<", range.end()));
        }
        return parts.isEmpty() ? "(true)" : "(" + String.join(" and ", parts) + ")";
    }

    /** The conditions for ranges of virtual shards. */
    static List<String> ofBuckets(List<KeyType> types, List<String> columns, int of, List<Interval<Long>> ranges) {
        String bucket = "(" + hash(types, columns) + " operator(pg_catalog.&) " + (of - 1) + "::pg_catalog.int8)";
        return ranges.stream()
                .map(range -> "(" + bucket + " operator(pg_catalog.>=) " + range.start()
                        + " and " + bucket + " operator(pg_catalog.<) " + range.end() + ")")
                .toList();
    }

    /** The condition for single keys. */
    static String ofList(List<KeyType> types, List<String> columns, List<Key> keys) {
        KeyType type = types.get(0);
        String elements = keys.stream()
                .map(key -> Keys.text(type, key.column(0)))
                .map(text -> '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"')
                .collect(Collectors.joining(","));
        String array = literal("{" + elements + "}") + "::pg_catalog." + type.catalogName() + "[]";
        return "(" + comparable(type, columns.get(0)) + " operator(pg_catalog.=) any (" + array + "))";
    }

    private static String comparison(List<KeyType> types, List<String> columns, String operator, Key key) {
        List<String> right = new ArrayList<>();
        for (int at = 0; at < types.size(); at += 1) {
            right.add(typed(types.get(at), key.column(at)));
        }
        List<String> left = comparable(types, columns);
        String compared = " operator(pg_catalog." + operator + ") ";
        if (types.size() == 1) {
            return left.get(0) + compared + right.get(0);
        }
        return "row(" + String.join(", ", left) + ")" + compared + "row(" + String.join(", ", right) + ")";
    }

    private static String typed(KeyType type, Object column) {
        // The end of a range may be a value of a larger type.
        int unused = Long.SIZE - type.bits();
        boolean isLarge = type.bits() > 0 && column instanceof Long number && number << unused >> unused != number;
        return literal(Keys.text(type, column)) + "::pg_catalog." + (isLarge ? "int8" : type.catalogName());
    }

    private static List<String> comparable(List<KeyType> types, List<String> columns) {
        List<String> compared = new ArrayList<>();
        for (int at = 0; at < types.size(); at += 1) {
            compared.add(comparable(types.get(at), columns.get(at)));
        }
        return compared;
    }

    private static String comparable(KeyType type, String column) {
        return type == KeyType.TEXT ? "(" + column + "::pg_catalog.text collate pg_catalog.\"C\")" : column;
    }

    private static String hash(List<KeyType> types, List<String> columns) {
        if (types.size() > 1) {
            return "pg_catalog.hash_record_extended(row(" + String.join(", ", comparable(types, columns)) + "), 0)";
        }
        String column = columns.get(0);
        return switch (types.get(0)) {
            case SMALLINT, INTEGER, BIGINT -> "pg_catalog.hashint8extended(" + column + "::pg_catalog.int8, 0)";
            case TEXT -> "pg_catalog.hashtextextended(" + column + "::pg_catalog.text collate pg_catalog.\"C\", 0)";
            case UUID -> "pg_catalog.uuid_hash_extended(" + column + ", 0)";
            // The hash function of bytea itself exists in SQL only since PostgreSQL 18.
            case BYTEA -> "pg_catalog.hashtextextended(pg_catalog.encode(" + column
                    + ", 'hex') collate pg_catalog.\"C\", 0)";
            case DATE, TIMESTAMPTZ -> "pg_catalog.hash_record_extended(row(" + column + "), 0)";
        };
    }

    private static String literal(String text) {
        String quoted = text.replace("'", "''");
        return text.contains("\\") ? "e'" + quoted.replace("\\", "\\\\") + "'" : "'" + quoted + "'";
    }
}
