package shardwright.client;

import java.util.Objects;

/**
 * The options of one transaction.
 *
 * @param isolation the isolation level
 * @param synchronousCommit false: the commit is acknowledged before it is on disk, so a crash of the server may lose
 *     the transaction
 */
public record TransactionOptions(Isolation isolation, boolean synchronousCommit) {
    /** Read committed, with a synchronous commit. */
    public static final TransactionOptions DEFAULT = new TransactionOptions(Isolation.READ_COMMITTED, true);

    static final String READ_ONLY = "set transaction isolation level repeatable read read only";

    /** Makes options. */
    public TransactionOptions {
        Objects.requireNonNull(isolation);
    }

    /** Returns these options with another isolation level. */
    public TransactionOptions withIsolation(Isolation other) {
        return new TransactionOptions(other, synchronousCommit);
    }

    /** Returns these options with another kind of commit. */
    public TransactionOptions withSynchronousCommit(boolean other) {
        return new TransactionOptions(isolation, other);
    }

    /** The first statements of the transaction; the driver sends them together with BEGIN. */
    String firstStatements() {
        String commit = synchronousCommit ? "on" : "off";
        return "set transaction isolation level " + isolation.sql() + "; set local synchronous_commit = " + commit;
    }
}
