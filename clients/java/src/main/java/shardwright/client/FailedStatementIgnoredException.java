package shardwright.client;

import java.util.Optional;

/** The function returned although one of its statements had failed. The transaction was rolled back. */
public final class FailedStatementIgnoredException extends ShardwrightException {
    private static final long serialVersionUID = 1;

    FailedStatementIgnoredException(String message) {
        super(message, null);
    }

    @Override
    public Optional<String> hint() {
        return Optional.of("let the error of the statement leave the function, or run the statement after a savepoint");
    }
}
