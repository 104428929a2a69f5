package shardwright.client;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Reads JSON value by value, so that a map of a million entries needs no object for each of its fields. Integers keep
 * all of their digits. Throws {@code MapException} if the text is no JSON.
 */
final class JsonReader {
    private static final int USUAL_DEPTH = 64;
    private static final char REPLACEMENT = '\ufffd';
    private static final int SHORT_DIGITS = 18;
    private static final Pattern INTEGER = Pattern.compile("-?(0|[1-9][0-9]*)");
    private static final Pattern NUMBER = Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
    private final byte[] text;
    private final int maxDepth;
    private int at;
    private int depth;

    JsonReader(byte[] text) {
        this(text, USUAL_DEPTH);
    }

    private JsonReader(byte[] text, int maxDepth) {
        this.text = text;
        this.maxDepth = maxDepth;
    }

    /** Reads a whole text. */
    static Object parse(byte[] text) {
        return parse(text, USUAL_DEPTH);
    }

    /** Reads a whole text with so many levels at most. */
    static Object parse(byte[] text, int maxDepth) {
        JsonReader reader = new JsonReader(text, maxDepth);
        Object value = reader.value();
        reader.end();
        return value;
    }

    /** The place of the next value, for another reader of the same text. */
    int position() {
        return at;
    }

    void moveTo(int position) {
        at = position;
    }

    /** The first byte of the next token; 0 at the end. */
    byte peek() {
        while (at < text.length && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) {
            at += 1;
        }
        return at < text.length ? text[at] : 0;
    }

    void end() {
        if (peek() != 0 || at < text.length) {
            throw wrong("more text");
        }
    }

    /** Begins an object or an array, whose first byte this is. */
    void begin(char first) {
        if (peek() != first) {
            throw wrong("no " + first);
        }
        depth += 1;
        if (depth > maxDepth) {
            throw wrong("too many levels");
        }
        at += 1;
    }

    /**
     * Returns the next name of an object; null after the last one, which ends the object. {@code isFirst}: no comma.
     */
    String name(boolean isFirst) {
        if (!more('}', isFirst)) {
            return null;
        }
        String name = string();
        if (peek() != ':') {
            throw wrong("no colon");
        }
        at += 1;
        return name;
    }

    /** Whether the array has another value; otherwise it ends. {@code isFirst}: no comma. */
    boolean next(boolean isFirst) {
        return more(']', isFirst);
    }

    private boolean more(char last, boolean isFirst) {
        byte token = peek();
        if (token == last) {
            at += 1;
            depth -= 1;
            return false;
        }
        if (!isFirst) {
            if (token != ',') {
                throw wrong("no comma");
            }
            at += 1;
            if (peek() == last) {
                throw wrong("a comma at the end");
            }
        }
        return true;
    }

    /**
     * Reads a value: a map, a list, {@code String}, {@code Long}, {@code BigInteger}, {@code Double}, {@code Boolean}
     * or null.
     */
    Object value() {
        switch (peek()) {
            case '{' -> {
                Map<String, Object> map = new LinkedHashMap<>();
                begin('{');
                for (String name = name(true); name != null; name = name(false)) {
                    map.put(name, value());
                }
                return map;
            }
            case '[' -> {
                List<Object> list = new ArrayList<>();
                begin('[');
                for (boolean more = next(true); more; more = next(false)) {
                    list.add(value());
                }
                return list;
            }
            case '"' -> {
                return string();
            }
            default -> {
                return scalar();
            }
        }
    }

    /** Reads a value without keeping it. */
    void skip() {
        byte token = peek();
        if (token == '{') {
            begin('{');
            for (String name = name(true); name != null; name = name(false)) {
                skip();
            }
        } else if (token == '[') {
            begin('[');
            for (boolean more = next(true); more; more = next(false)) {
                skip();
            }
        } else {
            value();
        }
    }

    String string() {
        if (peek() != '"') {
            throw wrong("no string");
        }
        at += 1;
        String plain = unescaped();
        if (at < text.length && text[at] == '"') {
            at += 1;
            return plain;
        }
        StringBuilder letters = new StringBuilder(plain);
        while (at < text.length && text[at] != '"') {
            if (text[at] == '\\') {
                letters.append(escaped());
            } else {
                letters.append(unescaped());
            }
        }
        if (at >= text.length) {
            throw wrong("the end within a string");
        }
        at += 1;
        return letters.toString();
    }

    private String unescaped() {
        int start = at;
        while (at < text.length && text[at] != '"' && text[at] != '\\') {
            if (text[at] >= 0 && text[at] < ' ') {
                throw wrong("a control character");
            }
            at += 1;
        }
        return decoded(start, at);
    }

    private String decoded(int start, int end) {
        String letters = new String(text, start, end - start, StandardCharsets.UTF_8);
        if (letters.indexOf(REPLACEMENT) >= 0) {
            // It is in the text, or stands for bytes that are not UTF-8: such a key would be another one.
            try {
                StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text, start, end - start));
            } catch (CharacterCodingException error) {
                throw wrong("a string that is not UTF-8");
            }
        }
        return letters;
    }

    private char escaped() {
        if (at + 1 >= text.length) {
            throw wrong("the end within a string");
        }
        char kind = (char) text[at + 1];
        at += 2;
        int plain = "\"\\/bfnrt".indexOf(kind);
        if (plain >= 0) {
            return "\"\\/\b\f\n\r\t".charAt(plain);
        }
        if (kind != 'u' || at + 4 > text.length) {
            throw wrong("an unknown escape");
        }
        int letter = 0;
        for (int end = at + 4; at < end; at += 1) {
            int digit = Character.digit((char) text[at], 16);
            if (digit < 0) {
                throw wrong("an unknown escape");
            }
            letter = letter << 4 | digit;
        }
        return (char) letter;
    }

    private Object scalar() {
        int start = at;
        while (at < text.length && isPartOfScalar(text[at])) {
            at += 1;
        }
        Long number = shortInteger(start, at);
        if (number != null) {
            return number;
        }
        String token = new String(text, start, at - start, StandardCharsets.US_ASCII);
        switch (token) {
            case "null":
                return null;
            case "true":
                return true;
            case "false":
                return false;
            default:
        }
        if (INTEGER.matcher(token).matches()) {
            BigInteger large = new BigInteger(token);
            return large.bitLength() < Long.SIZE ? (Object) large.longValue() : large;
        } else if (NUMBER.matcher(token).matches()) {
            return Double.valueOf(token);
        }
        throw wrong(token.isEmpty() ? "no value" : "an unknown value " + token);
    }

    private static boolean isPartOfScalar(byte letter) {
        return letter >= '0' && letter <= '9' || letter >= 'a' && letter <= 'z' || letter >= 'A' && letter <= 'Z'
                || letter == '-' || letter == '+' || letter == '.';
    }

    /** An integer of few digits, which most are; null if it is something else. */
    private Long shortInteger(int start, int end) {
        boolean isNegative = start < end && text[start] == '-';
        int first = isNegative ? start + 1 : start;
        boolean isShort = first < end && end - first <= SHORT_DIGITS && (text[first] != '0' || end - first == 1);
        long number = 0;
        for (int digit = first; isShort && digit < end; digit += 1) {
            isShort = text[digit] >= '0' && text[digit] <= '9';
            number = number * 10 + text[digit] - '0';
        }
        return isShort ? (Long) (isNegative ? -number : number) : null;
    }

    private MapException wrong(String what) {
        return new MapException("the text is no JSON: " + what + " at byte " + at);
    }
}
