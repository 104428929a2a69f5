package shardwright.client;

/** A shard did not answer a query to all shards within the time for retries. The cause is the last error. */
public final class NoAnswerException extends ShardwrightException {
    private static final long serialVersionUID = 1;

    NoAnswerException(String message, Throwable cause) {
        super(message, cause);
    }
}
