package shardwright.client;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Writes JSON. */
final class Json {
    private Json() {}

    static String of(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                    .map(entry -> of(String.valueOf(entry.getKey())) + ":" + of(entry.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        } else if (value instanceof List<?> list) {
            return list.stream().map(Json::of).collect(Collectors.joining(",", "[", "]"));
        }
        return value instanceof String text ? LoadReports.quoted(text) : String.valueOf(value);
    }
}
