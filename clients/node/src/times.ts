/**
 * Dates and times in PostgreSQL's numbers: days and microseconds since 2000-01-01 in the proleptic Gregorian calendar.
 *
 * Texts are ISO, times in UTC; years before 1 have the suffix ` BC`. A time without an offset is refused, because it
 * would mean another time on each server.
 */

const DATE_INFINITY = (1n << 31n) - 1n;
const TIMESTAMP_INFINITY = (1n << 63n) - 1n;
const DAY = 86_400_000_000n;
/** The days from 0000-03-01 to 2000-01-01. */
const DAYS_TO_2000 = 730_425;
const FIRST_DATE = -2_451_545n;
const DATE_END = 2_145_031_949n;
const FIRST_TIMESTAMP = -211_813_488_000_000_000n;
const TIMESTAMP_END = 9_223_371_331_200_000_000n;
const DATE = /^(\d{1,7})-(\d{1,7})-(\d{1,7})( BC)?$/;
const TIMESTAMP =
  /^(\d{1,7})-(\d{1,7})-(\d{1,7})[ T](\d{1,7}):(\d{1,7})(?::(\d{1,7})(?:\.(\d{1,6}))?)?(?:[Zz]|([+-])(\d{1,2})(?::(\d{1,2}))?)( BC)?$/;

/** Reads `YYYY-MM-DD`, optionally with ` BC`, or an infinity. */
export function readDate(text: string): bigint | undefined {
  if (text === "infinity") return DATE_INFINITY;
  if (text === "-infinity") return ~DATE_INFINITY;
  const match = DATE.exec(text);
  const days = match === null ? undefined : daysSince2000(match[1]!, match[2]!, match[3]!, match[4] !== undefined);
  return days !== undefined && isDate(days) ? days : undefined;
}

/** Reads `YYYY-MM-DD HH:MM[:SS[.ffffff]]` with an offset, or an infinity. */
export function readTimestamp(text: string): bigint | undefined {
  if (text === "infinity") return TIMESTAMP_INFINITY;
  if (text === "-infinity") return ~TIMESTAMP_INFINITY;
  const match = TIMESTAMP.exec(text);
  if (match === null) return undefined;
  const days = daysSince2000(match[1]!, match[2]!, match[3]!, match[11] !== undefined);
  const [hours, minutes, seconds] = [match[4]!, match[5]!, match[6] ?? "0"].map(Number) as [number, number, number];
  const [offsetHours, offsetMinutes] = [Number(match[9] ?? 0), Number(match[10] ?? 0)];
  const isInRange = hours < 24 && minutes < 60 && seconds < 60 && offsetHours < 16 && offsetMinutes < 60;
  if (days === undefined || !isInRange) return undefined;
  const east = (offsetHours * 60 + offsetMinutes) * (match[8] === "-" ? -1 : 1);
  const secondsOfDay = BigInt((hours * 60 + minutes - east) * 60 + seconds);
  const micros = days * DAY + secondsOfDay * 1_000_000n + BigInt((match[7] ?? "0").padEnd(6, "0"));
  return micros >= FIRST_TIMESTAMP && micros < TIMESTAMP_END ? micros : undefined;
}

/** The time of a JavaScript date; `undefined` if it is invalid or out of range. */
export function timestampOf(date: Date): bigint | undefined {
  const time = date.getTime();
  if (Number.isNaN(time)) return undefined;
  const micros = (BigInt(time) - 946_684_800_000n) * 1000n;
  return micros >= FIRST_TIMESTAMP && micros < TIMESTAMP_END ? micros : undefined;
}

/** The text of a date as PostgreSQL prints it. */
export function dateText(days: bigint): string {
  if (days === DATE_INFINITY) return "infinity";
  if (days === ~DATE_INFINITY) return "-infinity";
  return dateParts(Number(days)).join("");
}

/** The text of a time as PostgreSQL prints it in time zone UTC. */
export function timestampText(micros: bigint): string {
  if (micros === TIMESTAMP_INFINITY) return "infinity";
  if (micros === ~TIMESTAMP_INFINITY) return "-infinity";
  const rest = ((micros % DAY) + DAY) % DAY;
  const [date, bc] = dateParts(Number((micros - rest) / DAY));
  const [seconds, fraction] = [Number(rest / 1_000_000n), Number(rest % 1_000_000n)];
  const time = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map(padded).join(":");
  const decimals = fraction === 0 ? "" : `.${String(fraction).padStart(6, "0")}`.replace(/0+$/, "");
  return `${date} ${time}${decimals}+00${bc}`;
}

function isDate(days: bigint): boolean {
  return days >= FIRST_DATE && days < DATE_END;
}

function daysSince2000(yearText: string, monthText: string, dayText: string, isBc: boolean): bigint | undefined {
  const [written, month, day] = [Number(yearText), Number(monthText), Number(dayText)];
  if (written === 0 && !isBc) return undefined;
  const year = isBc ? 1 - written : written;
  // Years begin in March, so that the leap day is the last day of its year.
  const marchYear = month <= 2 ? year - 1 : year;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  const days = marchYear * 365 + leapDays + dayOfYear - DAYS_TO_2000;
  const [readYear, readMonth, readDay] = dateOf(days);
  // Without this check the 30th of February would be read as the 1st or 2nd of March.
  return readYear === year && readMonth === month && readDay === day ? BigInt(days) : undefined;
}

/** Year (0 is 1 BC), month and day: the inverse of `daysSince2000`. */
function dateOf(days: number): [number, number, number] {
  const cycle = Math.floor((days + DAYS_TO_2000) / 146_097);
  const day = days + DAYS_TO_2000 - cycle * 146_097;
  const leaps = Math.floor(day / 1460) - Math.floor(day / 36_524) + Math.floor(day / 146_096);
  const year = Math.floor((day - leaps) / 365);
  const dayOfYear = day - (365 * year + Math.floor(year / 4) - Math.floor(year / 100));
  const sinceMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const month = sinceMarch < 10 ? sinceMarch + 3 : sinceMarch - 9;
  return [year + cycle * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - Math.floor((153 * sinceMarch + 2) / 5) + 1];
}

function dateParts(days: number): [string, string] {
  const [year, month, day] = dateOf(days);
  const [shown, bc] = year > 0 ? [year, ""] : [1 - year, " BC"];
  return [`${String(shown).padStart(4, "0")}-${padded(month)}-${padded(day)}`, bc as string];
}

function padded(number: number): string {
  return String(number).padStart(2, "0");
}
