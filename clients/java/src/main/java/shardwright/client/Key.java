package shardwright.client;

import java.util.Arrays;

/**
 * A key as PostgreSQL stores it: for each column a {@code Long} (also days and microseconds since 2000-01-01), or a
 * {@code byte[]} (text in UTF-8, uuid, bytea).
 *
 * <p>Its order is that of PostgreSQL; bytes are compared without a sign.
 */
final class Key implements Comparable<Key> {
    private final Object[] columns;

    Key(Object... columns) {
        this.columns = columns;
    }

    int size() {
        return columns.length;
    }

    Object column(int at) {
        return columns[at];
    }

    /** The value of a key with one numeric column. */
    long number() {
        return (Long) columns[0];
    }

    @Override
    public int compareTo(Key other) {
        for (int at = 0; at < columns.length; at += 1) {
            int order = compare(columns[at], other.columns[at]);
            if (order != 0) {
                return order;
            }
        }
        return 0;
    }

    private static int compare(Object one, Object other) {
        if (one instanceof Long number) {
            return number.compareTo((Long) other);
        }
        return Arrays.compareUnsigned((byte[]) one, (byte[]) other);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Key key && Arrays.deepEquals(columns, key.columns);
    }

    @Override
    public int hashCode() {
        return Arrays.deepHashCode(columns);
    }
}
