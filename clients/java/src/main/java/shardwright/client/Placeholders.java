package shardwright.client;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Converts the placeholders of JDBC to those of PostgreSQL: {@code ?} to {@code $1}, {@code $2}, …. */
final class Placeholders {
    /** What may contain a question mark that is no placeholder: strings, names, comments; and what is one. */
    private static final Pattern PARTS = Pattern.compile(
            "(?is)\\be'(?:[^'\\\\]|\\\\.|'')*+'|'[^']*+'|\"[^\"]*+\"|--[^\\n]*+|/\\*.*?\\*/"
                    + "|(?<![\\w$])(\\$(?:[a-z_]\\w*)?\\$).*?\\1|\\?\\?|\\?");

    private Placeholders() {}

    static String numbered(String sql) {
        Matcher parts = PARTS.matcher(sql);
        StringBuilder text = new StringBuilder();
        int number = 0;
        while (parts.find()) {
            String part = parts.group();
            if (part.equals("?")) {
                number += 1;
                part = "$" + number;
            } else if (part.equals("??")) {
                part = "?";
            }
            parts.appendReplacement(text, Matcher.quoteReplacement(part));
        }
        return parts.appendTail(text).toString();
    }
}
