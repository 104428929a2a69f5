// Package key has the keys of a shard map: their types, order, texts, hashes and sets, as in PostgreSQL.
package key

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Type is the type of one column of a key.
type Type string

// The types that a key column can have.
const (
	Smallint    Type = "smallint"
	Integer     Type = "integer"
	Bigint      Type = "bigint"
	Text        Type = "text"
	UUID        Type = "uuid"
	Bytea       Type = "bytea"
	Date        Type = "date"
	Timestamptz Type = "timestamptz"
)

const uuidLength = 16

// Key is a key that was converted to the types of a map. Keys of one map can be compared with == and used in a Go map.
//
// A numeric key of one column is number (also days and microseconds since 2000-01-01); any other key is a string of
// bytes whose order is the order of keys.
type Key struct {
	number int64
	bytes  string
}

// OfBucket is a virtual shard as a place in the index of a map.
func OfBucket(bucket int64) Key { return Key{number: bucket} }

// Number is the number of a numeric key or of a virtual shard.
func (k Key) Number() int64 { return k.number }

// Bytes are the bytes of any other key.
func (k Key) Bytes() string { return k.bytes }

// Numeric is a key with a number.
func Numeric(number int64) Key { return Key{number: number} }

// OfBytes is a key with bytes in key order.
func OfBytes(bytes string) Key { return Key{bytes: bytes} }

// Less is the order of keys.
func (k Key) Less(other Key) bool {
	if k.number != other.number {
		return k.number < other.number
	}
	return k.bytes < other.bytes
}

// IsNumeric reports whether a key with these types is a number.
func IsNumeric(types []Type) bool {
	return len(types) == 1 && types[0].isNumber()
}

func (t Type) isNumber() bool { return t.isInteger() || t == Date || t == Timestamptz }

func (t Type) isInteger() bool { return t == Smallint || t == Integer || t == Bigint }

// IsKnown reports whether a key column can have this type.
func (t Type) IsKnown() bool { return t.isNumber() || t == Text || t == UUID || t == Bytea }

// bits is the number of bits of an integer type.
func (t Type) bits() int {
	switch t {
	case Smallint:
		return 16
	case Integer:
		return 32
	default:
		return 64
	}
}

// column is a value of one column: a number, or the bytes of a text, uuid or bytea.
type column struct {
	number int64
	bytes  string
}

// fromColumns joins the columns to a key.
func fromColumns(types []Type, columns []column) Key {
	if len(types) == 1 {
		return Key(columns[0])
	}
	var bytes []byte
	for at, value := range columns {
		switch {
		case types[at].isNumber():
			bytes = binary.BigEndian.AppendUint64(bytes, uint64(value.number)^(1<<63))
		case types[at] == UUID:
			bytes = append(bytes, value.bytes...)
		default:
			// A zero byte is escaped, so that the end of a column is below each continuation.
			bytes = append(bytes, strings.ReplaceAll(value.bytes, "\x00", "\x00\xff")...)
			bytes = append(bytes, 0, 0)
		}
	}
	return Key{bytes: string(bytes)}
}

// columns is the inverse of fromColumns.
func (k Key) columns(types []Type) []column {
	if len(types) == 1 {
		return []column{column(k)}
	}
	columns, rest := make([]column, len(types)), k.bytes
	for at, kind := range types {
		switch {
		case kind.isNumber():
			columns[at].number = int64(binary.BigEndian.Uint64([]byte(rest[:8])) ^ 1<<63)
			rest = rest[8:]
		case kind == UUID:
			columns[at].bytes, rest = rest[:uuidLength], rest[uuidLength:]
		default:
			end := endOfColumn(rest)
			columns[at].bytes, rest = strings.ReplaceAll(rest[:end], "\x00\xff", "\x00"), rest[end+2:]
		}
	}
	return columns
}

func endOfColumn(bytes string) int {
	at := 0
	for bytes[at] != 0 || bytes[at+1] != 0 {
		if bytes[at] == 0 {
			at++
		}
		at++
	}
	return at
}

// Bucket is the number of the key's virtual shard among of, a power of two.
func (k Key) Bucket(types []Type, of int64) int64 {
	return int64(k.Hash(types) & uint64(of-1))
}

// Hash is PostgreSQL's 64-bit hash with seed 0; of a composite key that of a record.
func (k Key) Hash(types []Type) uint64 {
	if len(types) == 1 {
		return column(k).hash(types[0])
	}
	var total uint64
	for at, value := range k.columns(types) {
		total = total<<5 - total + value.hash(types[at])
	}
	return total
}

func (c column) hash(kind Type) uint64 {
	switch {
	case kind == Date:
		return hashWord(uint32(c.number))
	case kind.isNumber():
		return hashInt8(c.number)
	case kind == Bytea:
		return hashBytes(hex.EncodeToString([]byte(c.bytes)))
	default:
		return hashBytes(c.bytes)
	}
}

// Texts are the texts of the columns, as PostgreSQL prints them.
func (k Key) Texts(types []Type) []string {
	texts := make([]string, len(types))
	for at, value := range k.columns(types) {
		texts[at] = value.text(types[at])
	}
	return texts
}

func (c column) text(kind Type) string {
	switch kind {
	case Text:
		return c.bytes
	case Bytea:
		return `\x` + hex.EncodeToString([]byte(c.bytes))
	case UUID:
		digits := hex.EncodeToString([]byte(c.bytes))
		return fmt.Sprintf("%s-%s-%s-%s-%s", digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
	case Date:
		return dateText(c.number)
	case Timestamptz:
		return timestampText(c.number)
	default:
		return strconv.FormatInt(c.number, 10)
	}
}

// Display is the key in messages.
func (k Key) Display(types []Type) string {
	texts := k.Texts(types)
	for at, kind := range types {
		if kind == Text {
			texts[at] = strconv.Quote(texts[at])
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// JSON is the key as the value of a JSON document; integers keep all their digits.
func (k Key) JSON(types []Type) any {
	values := make([]any, len(types))
	for at, value := range k.columns(types) {
		switch {
		case types[at].isInteger():
			values[at] = value.number
		case types[at] == Text:
			values[at] = value.bytes
		default:
			values[at] = map[string]string{string(types[at]): value.text(types[at])}
		}
	}
	if len(values) == 1 {
		return values[0]
	}
	return values
}

// catalogName is the name of the type in pg_type; for the end of a range, that of a type that can hold the value.
func (t Type) catalogName(number int64) string {
	switch {
	case t == Smallint && number >= math.MinInt16 && number <= math.MaxInt16:
		return "int2"
	case t == Integer && number >= math.MinInt32 && number <= math.MaxInt32:
		return "int4"
	case t.isInteger():
		return "int8"
	default:
		return string(t)
	}
}
