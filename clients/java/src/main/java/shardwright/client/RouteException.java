package shardwright.client;

/** A key has no shard. No statement was executed. */
public abstract class RouteException extends ShardwrightException {
    private static final long serialVersionUID = 1;

    RouteException(String message) {
        super(message, null);
    }
}
