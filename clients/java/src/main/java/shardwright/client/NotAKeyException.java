package shardwright.client;

import java.util.Optional;

/** The value is not a key of this map: it has another type, or another number of columns. */
public final class NotAKeyException extends RouteException {
    private static final long serialVersionUID = 1;

    NotAKeyException(String message) {
        super(message);
    }

    @Override
    public Optional<String> hint() {
        return Optional.of("pass the key in the types of the map's key columns");
    }
}
