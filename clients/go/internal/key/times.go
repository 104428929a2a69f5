package key

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Dates and times in PostgreSQL's numbers: days and microseconds since 2000-01-01 in the proleptic Gregorian calendar.
// Texts are ISO, times in UTC; years before 1 have the suffix BC. A time without an offset is refused, because it would
// mean another time on each server.

const (
	dateInfinity      = math.MaxInt32
	timestampInfinity = math.MaxInt64
	microsOfDay       = 86_400_000_000
	// The days from 0000-03-01 to 2000-01-01.
	daysTo2000        = 730_425
	firstDate         = -2_451_545
	afterLastDate     = 2_145_031_949
	firstTimestamp    = -211_813_488_000_000_000
	afterLastTime     = 9_223_371_331_200_000_000
	microsFrom1970    = 946_684_800_000_000
	secondsOfDay      = 86_400
	microsOfSecond    = 1_000_000
	infinity          = "infinity"
	minusInfinity     = "-infinity"
	daysOfCycle       = 146_097
	daysOfFourYears   = 1460
	daysOfCentury     = 36_524
	marchBasedMonths  = 10
	monthsFromJanuary = 9
)

var (
	datePattern      = regexp.MustCompile(`^([0-9]{1,7})-([0-9]{1,7})-([0-9]{1,7})( BC)?$`)
	timestampPattern = regexp.MustCompile(
		`^([0-9]{1,7})-([0-9]{1,7})-([0-9]{1,7})[ T]([0-9]{1,7}):([0-9]{1,7})(?::([0-9]{1,7})(?:\.([0-9]{1,6}))?)?` +
			`(?:[Zz]|([+-])([0-9]{1,2})(?::([0-9]{1,2}))?)( BC)?$`)
)

// readDate reads YYYY-MM-DD, optionally with BC, or an infinity.
func readDate(text string) (int64, bool) {
	switch text {
	case infinity:
		return dateInfinity, true
	case minusInfinity:
		return ^int64(dateInfinity), true
	}
	match := datePattern.FindStringSubmatch(text)
	if match == nil {
		return 0, false
	}
	return daysSince2000(match[1], match[2], match[3], match[4] != "")
}

// readTimestamp reads YYYY-MM-DD HH:MM[:SS[.ffffff]] with an offset, or an infinity.
func readTimestamp(text string) (int64, bool) {
	switch text {
	case infinity:
		return timestampInfinity, true
	case minusInfinity:
		return math.MinInt64, true
	}
	match := timestampPattern.FindStringSubmatch(text)
	if match == nil {
		return 0, false
	}
	days, ok := daysSince2000(match[1], match[2], match[3], match[11] != "")
	hours, minutes, seconds := number(match[4]), number(match[5]), number(match[6])
	offsetHours, offsetMinutes := number(match[9]), number(match[10])
	if !ok || hours > 23 || minutes > 59 || seconds > 59 || offsetHours > 15 || offsetMinutes > 59 {
		return 0, false
	}
	east := offsetHours*60 + offsetMinutes
	if match[8] == "-" {
		east = -east
	}
	fraction := number((match[7] + "000000")[:6])
	// The last day of the calendar does not overflow: its number of microseconds fits, and an offset is below a day.
	return withinTimestamps(days, ((hours*60+minutes-east)*60+seconds)*microsOfSecond+fraction)
}

func withinTimestamps(days, rest int64) (int64, bool) {
	if days < firstTimestamp/microsOfDay-1 || days > afterLastTime/microsOfDay {
		return 0, false
	}
	micros := days*microsOfDay + rest
	return micros, micros >= firstTimestamp && micros < afterLastTime
}

// timestampOf converts a time of Go; what is below a microsecond is cut off.
func timestampOf(value time.Time) (int64, bool) {
	if year := value.UTC().Year(); year < -4713 || year > 294276 {
		return 0, false
	}
	seconds := value.Unix() - microsFrom1970/microsOfSecond
	micros := seconds*microsOfSecond + int64(value.Nanosecond()/1000)
	return micros, micros >= firstTimestamp && micros < afterLastTime
}

func number(digits string) int64 {
	value, _ := strconv.ParseInt(digits, 10, 64)
	return value
}

func dateText(days int64) string {
	if days == dateInfinity {
		return infinity
	}
	if days == ^int64(dateInfinity) {
		return minusInfinity
	}
	date, bc := dateParts(days)
	return date + bc
}

func timestampText(micros int64) string {
	if micros == timestampInfinity {
		return infinity
	}
	if micros == math.MinInt64 {
		return minusInfinity
	}
	days, rest := divided(micros, microsOfDay)
	seconds, fraction := rest/microsOfSecond, rest%microsOfSecond
	date, bc := dateParts(days)
	text := fmt.Sprintf("%s %02d:%02d:%02d", date, seconds/3600, seconds/60%60, seconds%60)
	if fraction != 0 {
		text += strings.TrimRight(fmt.Sprintf(".%06d", fraction), "0")
	}
	return text + "+00" + bc
}

// divided is a division whose rest is never negative.
func divided(value, by int64) (int64, int64) {
	quotient, rest := value/by, value%by
	if rest < 0 {
		return quotient - 1, rest + by
	}
	return quotient, rest
}

func daysSince2000(yearText, monthText, dayText string, isBC bool) (int64, bool) {
	year, month, day := number(yearText), number(monthText), number(dayText)
	if year == 0 && !isBC {
		return 0, false
	}
	if isBC {
		year = 1 - year
	}
	// Years begin in March, so that the leap day is the last day of its year.
	marchYear := year
	if month <= 2 {
		marchYear--
	}
	four, _ := divided(marchYear, 4)
	hundred, _ := divided(marchYear, 100)
	fourHundred, _ := divided(marchYear, 400)
	dayOfYear := (153*((month+monthsFromJanuary)%12)+2)/5 + day - 1
	days := marchYear*365 + four - hundred + fourHundred + dayOfYear - daysTo2000
	// Without this check the 30th of February would be read as the 1st or 2nd of March.
	foundYear, foundMonth, foundDay := dateOf(days)
	isDate := foundYear == year && foundMonth == month && foundDay == day
	return days, isDate && days >= firstDate && days < afterLastDate
}

// dateOf returns year (0 is 1 BC), month and day: the inverse of daysSince2000.
func dateOf(days int64) (int64, int64, int64) {
	cycle, day := divided(days+daysTo2000, daysOfCycle)
	year := (day - day/daysOfFourYears + day/daysOfCentury - day/(daysOfCycle-1)) / 365
	dayOfYear := day - (365*year + year/4 - year/100)
	sinceMarch := (5*dayOfYear + 2) / 153
	dayOfMonth := dayOfYear - (153*sinceMarch+2)/5 + 1
	month := sinceMarch + 3
	if sinceMarch >= marchBasedMonths {
		month = sinceMarch - monthsFromJanuary
		year++
	}
	return year + cycle*400, month, dayOfMonth
}

func dateParts(days int64) (string, string) {
	year, month, day := dateOf(days)
	bc := ""
	if year <= 0 {
		year, bc = 1-year, " BC"
	}
	return fmt.Sprintf("%04d-%02d-%02d", year, month, day), bc
}
