package shardwright.client;

/** One attempt of a transaction on a shard. The code that does the I/O records here how far it got. */
final class Attempt {
    /** How far an attempt got. */
    enum Stage {
        CONNECT,
        WORK,
        COMMIT
    }

    final String shard;
    Stage stage = Stage.CONNECT;
    /** Whether the connection was lost. */
    boolean isLost;

    Attempt(String shard) {
        this.shard = shard;
    }
}
