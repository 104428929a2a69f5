package shardwright.client;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import org.postgresql.core.TransactionState;

/**
 * The connection that the function of a transaction gets. The library begins and ends the transaction, so that commit
 * and rollback are refused, and {@code close} does nothing.
 *
 * <p>A COMMIT as a statement is noticed after it: the driver would begin another transaction at the next statement,
 * which would look like success.
 */
final class GuardedConnection implements InvocationHandler {
    private static final Set<String> REFUSED = Set.of("commit", "setAutoCommit", "abort");

    private final Loan loan;
    private final String shard;
    private final Connection guarded;
    private boolean hasEnded;

    GuardedConnection(Loan loan, String shard) {
        this.loan = loan;
        this.shard = shard;
        guarded = Proxies.of(Connection.class, this);
    }

    Connection connection() {
        return guarded;
    }

    /** Throws an error if a commit would not commit the work. */
    void checkBeforeCommit() throws SQLException {
        if (hasEnded) {
            throw new TransactionEndedException("the function ended its transaction on shard " + shard);
        } else if (loan.isLost()) {
            throw new SQLException("the function ignored that the connection was lost", "08003");
        } else if (loan.state() == TransactionState.IDLE) {
            throw new TransactionEndedException("the function ended its transaction on shard " + shard);
        }
        if (loan.state() == TransactionState.FAILED) {
            throw new FailedStatementIgnoredException(
                    "the function ignored a failed statement; the transaction on shard " + shard + " was rolled back");
        }
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        String name = method.getName();
        if (REFUSED.contains(name) || name.equals("rollback") && arguments == null) {
            throw new TransactionEndedException(name + " is not possible in the function of a transaction");
        } else if (name.equals("close")) {
            return null;
        } else if (name.equals("equals")) {
            return proxy == arguments[0];
        }
        Object result = Proxies.call(loan.connection(), method, arguments);
        if (result instanceof CallableStatement statement) {
            return Proxies.of(CallableStatement.class, new GuardedStatement(statement));
        } else if (result instanceof PreparedStatement statement) {
            return Proxies.of(PreparedStatement.class, new GuardedStatement(statement));
        } else if (result instanceof Statement statement) {
            return Proxies.of(Statement.class, new GuardedStatement(statement));
        }
        return result;
    }

    /** A statement, after which the transaction must still be open. */
    private final class GuardedStatement implements InvocationHandler {
        private final Statement statement;

        GuardedStatement(Statement statement) {
            this.statement = statement;
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            if (method.getName().equals("getConnection")) {
                return guarded;
            } else if (method.getName().equals("equals")) {
                return proxy == arguments[0];
            }
            Object result = Proxies.call(statement, method, arguments);
            if (method.getName().startsWith("execute") && loan.state() == TransactionState.IDLE) {
                hasEnded = true;
                throw new TransactionEndedException("the function ended its transaction on shard " + shard);
            }
            return result;
        }
    }
}
