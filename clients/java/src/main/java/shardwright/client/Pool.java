package shardwright.client;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Semaphore;

/**
 * The connections to one shard: a list of idle ones and a limit.
 *
 * <p>A caller has to know at once why a connection cannot be opened, because that decides whether a retry helps. Pools
 * that open connections in a thread of their own report only that a time limit has passed, or wait until it has.
 */
final class Pool {
    private final String shard;
    private final ShardAccess access;
    private final Options options;
    private final Semaphore slots;
    private final Deque<Connection> idle = new ArrayDeque<>();
    private boolean keepsIdle;

    Pool(String shard, ShardAccess access, Options options) {
        this.shard = shard;
        this.access = access;
        this.options = options;
        slots = new Semaphore(options.connections);
        keepsIdle = access.isPooledHere();
    }

    /** Returns an idle connection, or opens one. */
    Loan take() throws SQLException, InterruptedException {
        if (!access.isPooledHere()) {
            return loanOf(access.open(shard, options.connectTimeout));
        }
        slots.acquire();
        boolean isTaken = false;
        try {
            Connection known = takeIdle();
            Loan loan = loanOf(known == null ? access.open(shard, options.connectTimeout) : known);
            isTaken = true;
            return loan;
        } finally {
            if (!isTaken) {
                slots.release();
            }
        }
    }

    private static Loan loanOf(Connection connection) throws SQLException {
        try {
            return new Loan(connection);
        } catch (SQLException | RuntimeException error) {
            connection.close();
            throw error;
        }
    }

    private synchronized Connection takeIdle() throws SQLException {
        Connection next = idle.pollFirst();
        while (next != null && next.isClosed()) {
            next = idle.pollFirst();
        }
        return next;
    }

    /** Ends a loan. A connection whose transaction has not ended is rolled back or closed. */
    void giveBack(Loan loan) {
        boolean wasLost = loan.isLost();
        boolean isUsable = loan.end();
        if (!access.isPooledHere()) {
            loan.close();
            return;
        }
        try {
            if (!isUsable || !keep(loan.connection())) {
                loan.close();
            }
            if (wasLost) {
                // The others are lost too, if the server was restarted.
                closeIdle();
            }
        } finally {
            slots.release();
        }
    }

    private synchronized boolean keep(Connection connection) {
        if (keepsIdle) {
            idle.addFirst(connection);
        }
        return keepsIdle;
    }

    /** Whether connections are kept; if not, closes those that are idle. */
    void keepIdle(boolean isUsed) {
        synchronized (this) {
            keepsIdle = isUsed;
        }
        if (!isUsed) {
            closeIdle();
        }
    }

    private void closeIdle() {
        List<Connection> closing;
        synchronized (this) {
            closing = new ArrayList<>(idle);
            idle.clear();
        }
        for (Connection connection : closing) {
            try {
                connection.close();
            } catch (SQLException error) {
                // It was lost.
            }
        }
    }
}
