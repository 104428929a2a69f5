package shardwright.client;

import java.util.Optional;

/** No controller returned the map. The cause is the error of the last controller. */
public final class FetchFailedException extends ShardwrightException {
    private static final long serialVersionUID = 1;

    FetchFailedException(String message, Throwable cause) {
        super(message, cause);
    }

    @Override
    public Optional<String> hint() {
        return Optional.of("check the URLs of the controllers, the name of the map, and the token");
    }
}
