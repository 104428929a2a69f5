package shardwright.client;

/** The map is invalid: mappings overlap, or do not have the form of the map's strategy. */
public final class MapException extends ShardwrightException {
    private static final long serialVersionUID = 1;

    MapException(String message) {
        super(message, null);
    }
}
