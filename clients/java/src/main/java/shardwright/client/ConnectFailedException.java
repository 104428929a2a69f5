package shardwright.client;

/** A connection to the shard cannot be opened, and a retry does not help. No statement was executed. */
public final class ConnectFailedException extends ShardwrightException {
    private static final long serialVersionUID = 1;

    ConnectFailedException(String message, Throwable cause) {
        super(message, cause);
    }
}
