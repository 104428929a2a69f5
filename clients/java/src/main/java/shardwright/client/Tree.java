package shardwright.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A node of the parser's tree.
 *
 * @param fields its fields in JSON; empty for a node that does not exist
 */
record Tree(Map<?, ?> fields) {
    private static final Tree NONE = new Tree(Map.of());

    static Tree of(Object value) {
        return value instanceof Map<?, ?> map ? new Tree(map) : NONE;
    }

    boolean has(String name) {
        return fields.get(name) != null;
    }

    Tree child(String name) {
        return of(fields.get(name));
    }

    List<Tree> list(String name) {
        List<Tree> nodes = new ArrayList<>();
        if (fields.get(name) instanceof List<?> list) {
            list.forEach(entry -> nodes.add(of(entry)));
        }
        return nodes;
    }

    /** A text; empty if it is missing. */
    String text(String name) {
        return fields.get(name) instanceof String text ? text : "";
    }

    /** A number; 0 if it is missing. */
    int number(String name) {
        return fields.get(name) instanceof Long number ? number.intValue() : 0;
    }

    Tree uncast() {
        Tree node = this;
        while (node.has("TypeCast")) {
            node = node.child("TypeCast").child("arg");
        }
        return node;
    }
}
