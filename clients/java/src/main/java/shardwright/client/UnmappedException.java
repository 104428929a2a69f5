package shardwright.client;

import java.util.Optional;

/** No mapping of the map contains the key. */
public final class UnmappedException extends RouteException {
    private static final long serialVersionUID = 1;

    UnmappedException(String message) {
        super(message);
    }

    @Override
    public Optional<String> hint() {
        return Optional.of("map the key to a shard, or correct the key");
    }
}
