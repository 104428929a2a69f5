package shardwright.client;

import java.util.Optional;

/** No controller has answered for longer than {@link Options.Builder#maxStaleness}. */
public final class StaleException extends RouteException {
    private static final long serialVersionUID = 1;

    StaleException(String message) {
        super(message);
    }

    @Override
    public Optional<String> hint() {
        return Optional.of("make sure that the application can reach a controller, or increase maxStaleness");
    }
}
