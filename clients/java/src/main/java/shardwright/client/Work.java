package shardwright.client;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * What an application does in a transaction, with a result.
 *
 * @param <T> the result
 * @param <E> the application's own checked exception; inferred
 */
@FunctionalInterface
public interface Work<T, E extends Exception> {
    /** Runs in a transaction. The connection is valid until the function returns, and must not commit. */
    T run(Connection connection) throws SQLException, E;
}
