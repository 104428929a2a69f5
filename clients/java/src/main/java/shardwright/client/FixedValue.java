package shardwright.client;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A value that a statement compares with a column.
 *
 * @param parameter the number of a parameter, from 1 on; 0 for a constant
 * @param isArray whether each element of the parameter is a value
 * @param constant the constant; null for a parameter
 */
record FixedValue(int parameter, boolean isArray, Object constant) {
    static FixedValue ofConstant(Object constant) {
        return new FixedValue(0, false, constant);
    }

    /** The values of one side of an equality; nothing if it has something else than parameters and constants. */
    static Optional<List<FixedValue>> in(String kind, Tree side) {
        if (side.has("A_ArrayExpr") || side.has("List")) {
            List<Tree> elements = new ArrayList<>(side.child("List").list("items"));
            elements.addAll(side.child("A_ArrayExpr").list("elements"));
            return inAll(elements);
        } else if (side.has("ParamRef")) {
            int number = side.child("ParamRef").number("number");
            return Optional.of(List.of(new FixedValue(number, kind.equals("AEXPR_OP_ANY"), null)));
        }
        Tree constant = side.child("A_Const");
        if (constant.has("ival")) {
            // The parser leaves out a zero.
            return Optional.of(List.of(ofConstant((long) constant.child("ival").number("ival"))));
        }
        // An integer beyond 32 bits is a numeric for the parser.
        String text = constant.child("sval").text("sval") + constant.child("fval").text("fval");
        return text.isEmpty() ? Optional.empty() : Optional.of(List.of(ofConstant(text)));
    }

    /** The values of several parts; nothing if one of them is not fixed, or if there are none. */
    static Optional<List<FixedValue>> inAll(List<Tree> parts) {
        List<FixedValue> values = new ArrayList<>();
        for (Tree part : parts) {
            Optional<List<FixedValue>> found = in("AEXPR_OP", part.uncast());
            if (found.isEmpty()) {
                return Optional.empty();
            }
            values.addAll(found.get());
        }
        return values.isEmpty() ? Optional.empty() : Optional.of(values);
    }

    /**
     * The keys of a statement, from the possible values of each key column. Of a composite key with lists, values at
     * the same position belong together.
     */
    static List<List<Object>> keysIn(List<List<FixedValue>> columns, List<Object> parameters) {
        List<List<Object>> lists = new ArrayList<>();
        for (List<FixedValue> values : columns) {
            List<Object> found = new ArrayList<>();
            values.forEach(value -> value.addTo(found, parameters));
            lists.add(found);
        }
        int longest = lists.stream().mapToInt(List::size).max().orElse(0);
        int common = lists.stream().mapToInt(List::size).map(size -> size == 1 ? longest : size).min().orElse(0);
        List<List<Object>> keys = new ArrayList<>();
        for (int at = 0; at < common; at += 1) {
            List<Object> key = new ArrayList<>();
            for (List<Object> found : lists) {
                key.add(found.get(found.size() == 1 ? 0 : at));
            }
            keys.add(key);
        }
        return keys;
    }

    private void addTo(List<Object> found, List<Object> parameters) {
        if (parameter == 0) {
            found.add(constant);
        } else if (parameter <= parameters.size()) {
            Object passed = parameters.get(parameter - 1);
            if (isArray && passed instanceof List<?> list) {
                found.addAll(list);
            } else if (isArray && passed != null && passed.getClass().isArray()) {
                for (int at = 0; at < Array.getLength(passed); at += 1) {
                    found.add(Array.get(passed, at));
                }
            } else {
                found.add(passed);
            }
        }
    }
}
