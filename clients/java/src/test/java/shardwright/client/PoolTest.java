package shardwright.client;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.Test;
import org.postgresql.core.BaseConnection;
import org.postgresql.core.TransactionState;

/** Connections are kept, closed and guarded as the library promises; without a server. */
public class PoolTest {
    /** A connection that records what is called. */
    private static final class Recorder implements InvocationHandler {
        private final List<String> calls = new ArrayList<>();
        private boolean isClosed;
        private boolean failsToRollBack;
        private TransactionState state = TransactionState.IDLE;

        private BaseConnection connection() {
            ClassLoader loader = PoolTest.class.getClassLoader();
            return (BaseConnection) Proxy.newProxyInstance(loader, new Class<?>[] {BaseConnection.class}, this);
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws SQLException {
            calls.add(method.getName());
            isClosed |= method.getName().equals("close");
            return switch (method.getName()) {
                case "unwrap" -> proxy;
                case "isClosed" -> isClosed;
                case "getAutoCommit" -> true;
                case "getTransactionState" -> state;
                case "createStatement" -> statement();
                case "rollback" -> {
                    if (failsToRollBack) {
                        throw new SQLException("lost", "08006");
                    }
                    yield null;
                }
                default -> null;
            };
        }

        private Statement statement() {
            ClassLoader loader = PoolTest.class.getClassLoader();
            InvocationHandler executed = (proxy, method, arguments) -> {
                if (method.getName().equals("execute") && "commit".equals(arguments[0])) {
                    state = TransactionState.IDLE;
                }
                return method.getReturnType() == boolean.class ? false : null;
            };
            return (Statement) Proxy.newProxyInstance(loader, new Class<?>[] {Statement.class}, executed);
        }
    }

    /** Access that opens recorded connections. */
    private static final class RecordedAccess extends ShardAccess {
        private final List<Recorder> opened = new ArrayList<>();

        @Override
        Connection open(String shard, Duration limit) {
            opened.add(new Recorder());
            return opened.get(opened.size() - 1).connection();
        }

        @Override
        boolean isPooledHere() {
            return true;
        }
    }

    private final RecordedAccess access = new RecordedAccess();
    private final Pools pools = new Pools(access, Options.builder().connections(2).build());

    @Test
    public void idleConnectionsAreUsedAgain() throws SQLException, InterruptedException {
        Pool pool = pools.poolOf("a");
        pool.giveBack(pool.take());
        pool.giveBack(pool.take());
        assertEquals(1, access.opened.size());
        assertFalse(access.opened.get(0).isClosed);
    }

    @Test
    public void connectionsThatCannotRollBackAreClosed() throws SQLException, InterruptedException {
        Pool pool = pools.poolOf("a");
        for (int loan = 0; loan < 3; loan += 1) {
            Loan taken = pool.take();
            access.opened.get(loan).failsToRollBack = true;
            pool.giveBack(taken);
            assertTrue(access.opened.get(loan).isClosed);
        }
    }

    @Test
    public void connectionsToShardsWithoutKeysAreClosed() throws SQLException, InterruptedException {
        Pool pool = pools.poolOf("a");
        Loan lent = pool.take();
        pool.giveBack(pool.take());
        pools.keep(Set.of("b"));
        assertTrue(access.opened.get(1).isClosed);
        assertFalse(access.opened.get(0).isClosed);
        pool.giveBack(lent);
        assertTrue(access.opened.get(0).isClosed);
        // Keys have returned.
        pools.keep(Set.of("a"));
        pool.giveBack(pool.take());
        assertFalse(access.opened.get(2).isClosed);
        pools.close();
        assertTrue(access.opened.get(2).isClosed);
        assertThrows(IllegalStateException.class, () -> pools.poolOf("a"));
    }

    @Test
    public void onlyTheLibraryEndsTheTransaction() throws SQLException, InterruptedException {
        Loan loan = pools.poolOf("a").take();
        Recorder recorder = access.opened.get(0);
        GuardedConnection guard = new GuardedConnection(loan, "a");
        Connection connection = guard.connection();
        recorder.state = TransactionState.OPEN;
        assertThrows(TransactionEndedException.class, connection::commit);
        assertThrows(TransactionEndedException.class, connection::rollback);
        assertThrows(TransactionEndedException.class, () -> connection.setAutoCommit(true));
        connection.close();
        connection.rollback(null);
        connection.setSavepoint();
        assertFalse(recorder.calls.contains("commit") || recorder.isClosed);
        guard.checkBeforeCommit();

        Statement statement = connection.createStatement();
        assertSame(connection, statement.getConnection());
        statement.execute("select 1");
        assertThrows(TransactionEndedException.class, () -> statement.execute("commit"));
        // The driver has begun another transaction since.
        recorder.state = TransactionState.OPEN;
        assertThrows(TransactionEndedException.class, guard::checkBeforeCommit);
    }

    @Test
    public void aFailedOrLostTransactionIsNotCommitted() throws SQLException, InterruptedException {
        Loan loan = pools.poolOf("a").take();
        GuardedConnection guard = new GuardedConnection(loan, "a");
        access.opened.get(0).state = TransactionState.FAILED;
        assertThrows(FailedStatementIgnoredException.class, guard::checkBeforeCommit);
        access.opened.get(0).isClosed = true;
        SQLException lost = assertThrows(SQLException.class, guard::checkBeforeCommit);
        assertEquals("08003", lost.getSQLState());
    }
}
