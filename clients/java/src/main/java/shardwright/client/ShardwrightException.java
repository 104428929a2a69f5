package shardwright.client;

import java.util.Optional;

/**
 * The base class of all errors of the library.
 *
 * <p>An error of the application's own function, or of a statement in it, is thrown unchanged after the rollback.
 */
public abstract class ShardwrightException extends RuntimeException {
    private static final long serialVersionUID = 1;

    ShardwrightException(String message, Throwable cause) {
        super(message, cause);
    }

    /** Returns what the user can do, if there is something. */
    public Optional<String> hint() {
        return Optional.empty();
    }
}
