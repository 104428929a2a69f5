package shardwright.client;

import java.util.Optional;

/** The function ended the transaction itself, which only the library may do. */
public final class TransactionEndedException extends ShardwrightException {
    private static final long serialVersionUID = 1;

    TransactionEndedException(String message) {
        super(message, null);
    }

    @Override
    public Optional<String> hint() {
        return Optional.of("remove commit and rollback from the function; throw an exception to roll back");
    }
}
