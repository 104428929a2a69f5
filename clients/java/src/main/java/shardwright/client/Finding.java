package shardwright.client;

import java.util.List;

/**
 * Something that would not work on shards.
 *
 * @param kind what it is
 * @param statement the statement without its constants
 * @param table the table of the map; null if the finding concerns a transaction
 * @param shards the shards of a transaction with keys of several shards
 * @param place the method, file and line that executed the statement first
 * @param count how often it occurred
 */
public record Finding(Kind kind, String statement, String table, List<String> shards, String place, long count) {
    /** The kinds of findings. */
    public enum Kind {
        /** The statement does not fix the key of a table of the map. */
        NO_KEY,
        /** The transaction has keys of several shards. */
        SEVERAL_SHARDS,
        /** No shard owns a key in the statement. */
        UNMAPPED_KEY,
        /** The parser does not understand the statement. */
        UNREADABLE
    }

    @Override
    public String toString() {
        String explanation = switch (kind) {
            case NO_KEY -> "the statement does not fix the key of table " + table;
            case SEVERAL_SHARDS -> "the transaction has keys of the shards " + String.join(", ", shards);
            case UNMAPPED_KEY -> "no shard owns the key in table " + table;
            case UNREADABLE -> "the parser does not understand the statement";
        };
        return explanation + ": " + statement + " (" + place + ")";
    }

    Finding oneMore() {
        return new Finding(kind, statement, table, shards, place, count + 1);
    }
}
