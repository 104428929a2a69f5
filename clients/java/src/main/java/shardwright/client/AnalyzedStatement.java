package shardwright.client;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What the parser found in a statement.
 *
 * @param normalized the statement without its constants
 * @param fingerprint the same for statements that differ in their constants only
 * @param uses the tables of the map
 */
record AnalyzedStatement(String normalized, String fingerprint, List<KeyTables.Use> uses) {
    private static final int MAX_DEPTH = 1_000;

    /** Analyzes a statement with parameters {@code $1}, {@code $2}, …; nothing if the parser refuses it. */
    static Optional<AnalyzedStatement> of(StatementParser parser, String sql, KeyTables tables) {
        try {
            byte[] json = parser.parseToJson(sql).getBytes(StandardCharsets.UTF_8);
            List<KeyTables.Use> uses = new ArrayList<>();
            for (Tree entry : Tree.of(JsonReader.parse(json, MAX_DEPTH)).list("stmts")) {
                StatementWalk walk = new StatementWalk(tables);
                walk.visit(entry.child("stmt").fields());
                uses.addAll(walk.uses());
            }
            return Optional.of(new AnalyzedStatement(parser.normalize(sql), parser.fingerprint(sql), uses));
        } catch (IllegalArgumentException | MapException error) {
            return Optional.empty();
        }
    }
}
