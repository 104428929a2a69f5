package shardwright.client;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import org.postgresql.core.BaseConnection;
import org.postgresql.core.TransactionState;

/** A connection for one transaction. */
final class Loan {
    private final Connection connection;
    private final BaseConnection driver;
    private final boolean wasAutoCommit;

    Loan(Connection connection) throws SQLException {
        this.connection = connection;
        driver = connection.unwrap(BaseConnection.class);
        wasAutoCommit = connection.getAutoCommit();
    }

    Connection connection() {
        return connection;
    }

    /** Begins a transaction with these statements, in one round trip. */
    void begin(String statements) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.execute(statements);
        }
    }

    /** What the server reported last. */
    TransactionState state() {
        return driver.getTransactionState();
    }

    boolean isLost() {
        try {
            return driver.isClosed() || connection.isClosed();
        } catch (SQLException error) {
            return true;
        }
    }

    /** Rolls back what is open. Returns whether the connection can be used again, as it was before. */
    boolean end() {
        try {
            if (!isLost()) {
                connection.rollback();
                connection.setAutoCommit(wasAutoCommit);
            }
            return !isLost();
        } catch (SQLException error) {
            return false;
        }
    }

    /** Closes the connection, or gives it back to the application's pool. */
    void close() {
        try {
            connection.close();
        } catch (SQLException error) {
            // It was lost.
        }
    }
}
