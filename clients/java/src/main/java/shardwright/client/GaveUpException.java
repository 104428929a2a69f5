package shardwright.client;

/** The time for retries has ended. The last attempt was rolled back. The cause is its error. */
public final class GaveUpException extends ShardwrightException {
    private static final long serialVersionUID = 1;

    GaveUpException(String message, Throwable cause) {
        super(message, cause);
    }
}
