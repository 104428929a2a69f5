package shardwright.client;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Dates and times in PostgreSQL's numbers: days and microseconds since 2000-01-01 in the proleptic Gregorian calendar,
 * which is also that of {@link LocalDate}.
 *
 * <p>Texts are ISO, times in UTC; years before 1 have the suffix {@code BC}. A time without an offset is refused,
 * because it would mean another time on each server.
 */
final class Times {
    private static final long DATE_INFINITY = Integer.MAX_VALUE;
    private static final long TIMESTAMP_INFINITY = Long.MAX_VALUE;
    private static final long DAY = 86_400_000_000L;
    private static final LocalDate EPOCH = LocalDate.of(2000, 1, 1);
    private static final long EPOCH_SECOND = 946_684_800L;
    private static final long FIRST_DATE = -2_451_545;
    private static final long DATE_END = 2_145_031_949L;
    private static final long FIRST_TIMESTAMP = -211_813_488_000_000_000L;
    private static final long TIMESTAMP_END = 9_223_371_331_200_000_000L;
    private static final String DATE_PARTS = "([0-9]{1,7})-([0-9]{1,7})-([0-9]{1,7})";
    private static final Pattern DATE = Pattern.compile(DATE_PARTS + "( BC)?");
    private static final Pattern TIMESTAMP = Pattern.compile(DATE_PARTS
            + "[ T]([0-9]{1,7}):([0-9]{1,7})(?::([0-9]{1,7})(?:\\.([0-9]{1,6}))?)?"
            + "(?:[Zz]|([+-])([0-9]{1,2})(?::([0-9]{1,2}))?)( BC)?");

    private Times() {}

    /** Reads {@code YYYY-MM-DD}, optionally with {@code BC}, or an infinity; null if it is none. */
    static Long readDate(String text) {
        if (text.equals("infinity") || text.equals("-infinity")) {
            return text.startsWith("-") ? ~DATE_INFINITY : DATE_INFINITY;
        }
        Matcher match = DATE.matcher(text);
        return match.matches() ? daysOf(match, match.group(4)) : null;
    }

    /** Reads {@code YYYY-MM-DD HH:MM[:SS[.ffffff]]} with an offset, or an infinity; null if it is none. */
    static Long readTimestamp(String text) {
        if (text.equals("infinity") || text.equals("-infinity")) {
            return text.startsWith("-") ? ~TIMESTAMP_INFINITY : TIMESTAMP_INFINITY;
        }
        Matcher match = TIMESTAMP.matcher(text);
        Long days = match.matches() ? daysOf(match, match.group(11)) : null;
        if (days == null) {
            return null;
        }
        int hours = part(match, 4);
        int minutes = part(match, 5);
        int seconds = part(match, 6);
        int offsetHours = part(match, 9);
        int offsetMinutes = part(match, 10);
        if (hours > 23 || minutes > 59 || seconds > 59 || offsetHours > 15 || offsetMinutes > 59) {
            return null;
        }
        int offset = offsetHours * 60 + offsetMinutes;
        int minuteOfDay = hours * 60 + minutes - ("-".equals(match.group(8)) ? -offset : offset);
        String fraction = match.group(7) == null ? "0" : match.group(7);
        long micros = Long.parseLong((fraction + "00000").substring(0, 6));
        return ofParts(days, (minuteOfDay * 60L + seconds) * 1_000_000 + micros);
    }

    /** The number of a date; null if PostgreSQL cannot store it. */
    static Long of(LocalDate date) {
        long days = date.toEpochDay() - EPOCH.toEpochDay();
        return days >= FIRST_DATE && days < DATE_END ? days : null;
    }

    /**
     * The number of a time; null if PostgreSQL cannot store it. Nanoseconds are rounded as PostgreSQL's driver does.
     */
    static Long of(Instant time) {
        long second = time.getEpochSecond() - EPOCH_SECOND;
        long day = Math.floorDiv(second, 86_400L);
        return ofParts(day, Math.floorMod(second, 86_400L) * 1_000_000 + (time.getNano() + 500) / 1000);
    }

    private static Long ofParts(long days, long microsOfDay) {
        // The last days of PostgreSQL's dates are too late for a time.
        if (days > TIMESTAMP_END / DAY + 1 || days < FIRST_TIMESTAMP / DAY - 1) {
            return null;
        }
        // The end of the range is less than a day below the greatest number, so that the sum may overflow.
        long micros = days * DAY;
        if (micros >= 0) {
            return micros - TIMESTAMP_END + microsOfDay >= 0 ? null : (Long) (micros + microsOfDay);
        }
        return micros + microsOfDay < FIRST_TIMESTAMP ? null : (Long) (micros + microsOfDay);
    }

    /** The text of a date as PostgreSQL prints it. */
    static String dateText(long days) {
        if (days == DATE_INFINITY || days == ~DATE_INFINITY) {
            return days > 0 ? "infinity" : "-infinity";
        }
        LocalDate date = EPOCH.plusDays(days);
        return yearMonthDay(date) + era(date);
    }

    /** The text of a time as PostgreSQL prints it in time zone UTC. */
    static String timestampText(long micros) {
        if (micros == TIMESTAMP_INFINITY || micros == ~TIMESTAMP_INFINITY) {
            return micros > 0 ? "infinity" : "-infinity";
        }
        LocalDate date = EPOCH.plusDays(Math.floorDiv(micros, DAY));
        long ofDay = Math.floorMod(micros, DAY);
        long seconds = ofDay / 1_000_000;
        String fraction = String.format(Locale.ROOT, ".%06d", ofDay % 1_000_000).replaceAll("\\.?0+$", "");
        String time = String.format(Locale.ROOT, "%02d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
        return yearMonthDay(date) + " " + time + fraction + "+00" + era(date);
    }

    private static Long daysOf(Matcher match, String era) {
        int year = part(match, 1);
        if (year == 0 && era == null) {
            return null;
        }
        try {
            return of(LocalDate.of(era == null ? year : 1 - year, part(match, 2), part(match, 3)));
        } catch (DateTimeException error) {
            // Such as the 30th of February.
            return null;
        }
    }

    private static int part(Matcher match, int group) {
        return match.group(group) == null ? 0 : Integer.parseInt(match.group(group));
    }

    private static String yearMonthDay(LocalDate date) {
        int year = date.getYear();
        int shown = year > 0 ? year : 1 - year;
        return String.format(Locale.ROOT, "%04d-%02d-%02d", shown, date.getMonthValue(), date.getDayOfMonth());
    }

    private static String era(LocalDate date) {
        return date.getYear() > 0 ? "" : " BC";
    }
}
