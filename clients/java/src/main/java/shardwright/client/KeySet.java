package shardwright.client;

import java.util.List;

/**
 * A set of keys of one map.
 *
 * <p>A set is kept in normal form: ordered, without empty parts, and with adjacent parts joined. {@link #contains} and
 * {@link #predicate} agree with what PostgreSQL computes.
 */
public abstract class KeySet {
    private final List<KeyType> types;

    KeySet(List<KeyType> types) {
        this.types = types;
    }

    /** Returns the types of the key's columns. */
    public List<KeyType> types() {
        return types;
    }

    /** Returns whether a key is in the set. Throws {@link NotAKeyException}. */
    public boolean contains(Object key) {
        return containsKey(Keys.accept(types, key));
    }

    /**
     * Returns the SQL condition for the rows of the set.
     *
     * @param columns the SQL names of the key's columns, such as {@code tenant_id} or {@code o.tenant_id}
     */
    public String predicate(String... columns) {
        if (columns.length != types.size()) {
            String counts = columns.length + " column(s), the key has " + types.size();
            throw new NotAKeyException(String.join(", ", columns) + ": " + counts);
        }
        List<String> conditions = conditions(List.of(columns));
        if (conditions.isEmpty()) {
            return "(false)";
        }
        return conditions.size() == 1 ? conditions.get(0) : "(" + String.join(" or ", conditions) + ")";
    }

    abstract boolean containsKey(Key key);

    /** SQL conditions, one of which is true for each row of the set. */
    abstract List<String> conditions(List<String> columns);
}
