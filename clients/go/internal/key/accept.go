package key

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Error says why a value is not a key.
type Error struct{ Reason string }

func (e *Error) Error() string { return e.Reason }

var uuidPattern = regexp.MustCompile(`^(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$`)

// Accept converts a value of the application to a key with these types.
func Accept(types []Type, value any) (Key, error) {
	// The most frequent keys need neither a conversion nor memory.
	if number, isInt := value.(int64); isInt && len(types) == 1 && types[0] == Bigint {
		return Key{number: number}, nil
	}
	parts, isComposite := value.([]any)
	if !isComposite {
		parts = []any{value}
	}
	if len(parts) != len(types) {
		reason := fmt.Sprintf("%s has %d value(s), the key has %d column(s)", shown(value), len(parts), len(types))
		return Key{}, &Error{reason}
	}
	columns := make([]column, len(types))
	for at, kind := range types {
		converted, ok := convert(kind, parts[at])
		if !ok {
			return Key{}, &Error{fmt.Sprintf("%s is not a %s", shown(parts[at]), kind)}
		}
		columns[at] = converted
	}
	return fromColumns(types, columns), nil
}

// AcceptEnd converts the end of a range. After the last value of a small integer type comes a value of a larger one.
func AcceptEnd(types []Type, value any) (Key, error) {
	wide := make([]Type, len(types))
	for at, kind := range types {
		wide[at] = kind
		if kind.isInteger() {
			wide[at] = Bigint
		}
	}
	return Accept(wide, value)
}

func convert(kind Type, value any) (column, bool) {
	value, ok := plain(kind, value)
	if !ok {
		return column{}, false
	}
	if kind.isInteger() {
		number, ok := integer(kind, value)
		return column{number: number}, ok
	}
	text, isText := value.(string)
	switch kind {
	case Text:
		return column{bytes: text}, isText && utf8.ValidString(text) && !strings.Contains(text, "\x00")
	case UUID:
		return uuidOf(value)
	case Bytea:
		return byteaOf(value)
	case Date:
		days, ok := readDate(text)
		return column{number: days}, isText && ok
	case Timestamptz:
		if moment, isTime := value.(time.Time); isTime {
			micros, ok := timestampOf(moment)
			return column{number: micros}, ok
		}
		micros, ok := readTimestamp(text)
		return column{number: micros}, isText && ok
	}
	return column{}, false
}

// plain is the value as a basic type: of a named type, or in the form of the map's JSON, such as {"uuid": "…"}.
func plain(kind Type, value any) (any, bool) {
	switch value := value.(type) {
	case nil:
		return nil, false
	case string, int, int64, int32, []byte, time.Time, json.Number:
		return value, true
	case map[string]any:
		text, isText := value[string(kind)].(string)
		return text, isText && len(value) == 1
	}
	reflected := reflect.ValueOf(value)
	switch reflected.Kind() {
	case reflect.String:
		return reflected.String(), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return reflected.Int(), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return json.Number(strconv.FormatUint(reflected.Uint(), 10)), true
	case reflect.Array:
		return bytesOfArray(reflected)
	case reflect.Slice:
		if reflected.Type().Elem().Kind() == reflect.Uint8 {
			return reflected.Bytes(), true
		}
	}
	return nil, false
}

// bytesOfArray are the bytes of an array, which is how packages for Go represent a UUID.
func bytesOfArray(array reflect.Value) (any, bool) {
	if array.Type().Elem().Kind() != reflect.Uint8 || array.Len() != uuidLength {
		return nil, false
	}
	var bytes [uuidLength]byte
	reflect.Copy(reflect.ValueOf(bytes[:]), array)
	return bytes, true
}

func integer(kind Type, value any) (int64, bool) {
	switch value := value.(type) {
	case int:
		return withinBits(kind, int64(value))
	case int32:
		return withinBits(kind, int64(value))
	case int64:
		return withinBits(kind, value)
	case json.Number:
		return readInteger(kind, string(value))
	case string:
		return readInteger(kind, value)
	}
	return 0, false
}

func readInteger(kind Type, text string) (int64, bool) {
	// ParseInt accepts a sign and digits, and nothing else in base 10.
	number, err := strconv.ParseInt(text, 10, kind.bits())
	return number, err == nil
}

func withinBits(kind Type, number int64) (int64, bool) {
	unused := 64 - kind.bits()
	return number, number<<unused>>unused == number
}

func uuidOf(value any) (column, bool) {
	switch value := value.(type) {
	case [uuidLength]byte:
		return column{bytes: string(value[:])}, true
	case string:
		if !uuidPattern.MatchString(value) {
			return column{}, false
		}
		bytes, err := hex.DecodeString(strings.ReplaceAll(value, "-", ""))
		return column{bytes: string(bytes)}, err == nil
	}
	return column{}, false
}

func byteaOf(value any) (column, bool) {
	switch value := value.(type) {
	case []byte:
		return column{bytes: string(value)}, true
	case string:
		digits := strings.TrimPrefix(value, `\x`)
		if len(digits) == len(value) {
			return column{}, false
		}
		bytes, err := hex.DecodeString(digits)
		return column{bytes: string(bytes)}, err == nil
	}
	return column{}, false
}

func shown(value any) string {
	if _, isBytes := value.([]byte); isBytes {
		return fmt.Sprintf("%x", value)
	}
	if text, isText := value.(string); isText {
		return strconv.Quote(text)
	}
	return fmt.Sprint(value)
}
