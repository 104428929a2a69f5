package key

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// The keys and key sets in the JSON of a shard map (docs/types.md).

// JSONKey is a key as the JSON has it. It is kept as text: a number must not lose digits.
type JSONKey []byte

// UnmarshalJSON keeps the text.
func (k *JSONKey) UnmarshalJSON(text []byte) error {
	*k = nil
	if string(text) != "null" {
		*k = append(JSONKey(nil), text...)
	}
	return nil
}

// value is the key as Accept takes it.
func (k JSONKey) value() (any, error) {
	if number, err := strconv.ParseInt(string(k), 10, 64); err == nil {
		return number, nil
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(k))
	decoder.UseNumber()
	err := decoder.Decode(&value)
	return value, err
}

// JSONRange is a range of keys; a missing end has no bound.
type JSONRange struct {
	From JSONKey `json:"from"`
	To   JSONKey `json:"to"`
}

// JSONBuckets has ranges of virtual shards, and single keys that differ from their virtual shard.
type JSONBuckets struct {
	Of     int64 `json:"of"`
	Ranges []struct {
		From int64 `json:"from"`
		To   int64 `json:"to"`
	} `json:"ranges"`
	Except []JSONKey `json:"except"`
}

// JSONSet is a set of keys; exactly one field is present.
type JSONSet struct {
	Range []JSONRange  `json:"range"`
	Hash  *JSONBuckets `json:"hash"`
	List  []JSONKey    `json:"list"`
}

func acceptText(types []Type, text JSONKey) (Key, error) {
	value, err := text.value()
	if err != nil {
		return Key{}, err
	}
	return Accept(types, value)
}

// AcceptAll converts keys to the types.
func AcceptAll(types []Type, texts []JSONKey) ([]Key, error) {
	keys := make([]Key, len(texts))
	for at, text := range texts {
		accepted, err := acceptText(types, text)
		if err != nil {
			return nil, err
		}
		keys[at] = accepted
	}
	return keys, nil
}

// Interval converts a range.
func (r JSONRange) Interval(types []Type) (Interval, error) {
	interval := Interval{NoFrom: r.From == nil, NoTo: r.To == nil}
	for _, end := range []struct {
		text JSONKey
		end  *Key
	}{{r.From, &interval.From}, {r.To, &interval.To}} {
		if end.text == nil {
			continue
		}
		value, err := end.text.value()
		if err != nil {
			return interval, err
		}
		if *end.end, err = AcceptEnd(types, value); err != nil {
			return interval, err
		}
	}
	return interval, nil
}

// Intervals are the ranges of virtual shards.
func (b *JSONBuckets) Intervals() []Interval {
	intervals := make([]Interval, len(b.Ranges))
	for at, entry := range b.Ranges {
		intervals[at] = Interval{From: OfBucket(entry.From), To: OfBucket(entry.To)}
	}
	return intervals
}

// ReadSet converts a set from the JSON of a map.
func ReadSet(types []Type, document JSONSet) (*Set, error) {
	if buckets := document.Hash; buckets != nil {
		exceptions, err := AcceptAll(types, buckets.Except)
		return HashSet(types, buckets.Of, buckets.Intervals(), exceptions), err
	}
	if document.List != nil {
		keys, err := AcceptAll(types, document.List)
		return ListSet(types, keys), err
	}
	if document.Range == nil {
		return nil, &Error{"a set of keys has neither ranges nor virtual shards nor a list"}
	}
	ranges := make([]Interval, len(document.Range))
	for at, entry := range document.Range {
		interval, err := entry.Interval(types)
		if err != nil {
			return nil, err
		}
		ranges[at] = interval
	}
	return RangeSet(types, ranges), nil
}
