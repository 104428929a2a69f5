package shardwright.client;

import java.util.Optional;

/** The application has no access to the shard. No statement was executed. */
public final class NoAccessException extends ShardwrightException {
    private static final long serialVersionUID = 1;

    NoAccessException(String message) {
        super(message, null);
    }

    @Override
    public Optional<String> hint() {
        return Optional.of("let the ShardAccess return a data source or a URL for this shard");
    }
}
