package shardwright.client;

/** The thread was interrupted while the library waited. Nothing was committed. */
public final class InterruptedRetryException extends ShardwrightException {
    private static final long serialVersionUID = 1;

    InterruptedRetryException(String message, Throwable cause) {
        super(message, cause);
    }
}
