package shardwright.client;

import java.util.Locale;

/** The isolation level of a transaction. */
public enum Isolation {
    /** PostgreSQL's default. */
    READ_COMMITTED,
    /** One snapshot for the whole transaction. */
    REPEATABLE_READ,
    /** As if transactions ran one after the other. */
    SERIALIZABLE;

    String sql() {
        return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
