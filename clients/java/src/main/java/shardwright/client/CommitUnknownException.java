package shardwright.client;

import java.util.Optional;

/** The connection was lost during the commit. The transaction may or may not be committed. */
public final class CommitUnknownException extends ShardwrightException {
    private static final long serialVersionUID = 1;

    CommitUnknownException(String message, Throwable cause) {
        super(message, cause);
    }

    @Override
    public Optional<String> hint() {
        return Optional.of("before you repeat the transaction, find out on the key's shard whether it was committed, "
                + "for example by a row that it writes");
    }
}
