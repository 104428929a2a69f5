package key

import (
	"fmt"
	"sort"
	"strings"
)

// Interval is a range from a start to an end, which is excluded. A missing end has no bound.
type Interval struct {
	From, To     Key
	NoFrom, NoTo bool
}

func (i Interval) isEmpty() bool { return !i.NoFrom && !i.NoTo && !i.From.Less(i.To) }

// Contains reports whether a place is in the interval.
func (i Interval) Contains(place Key) bool {
	return (i.NoFrom || !place.Less(i.From)) && (i.NoTo || place.Less(i.To))
}

// Set is a set of keys of one map, in normal form: ordered, without empty parts, with adjacent parts joined.
type Set struct {
	types []Type
	// ranges are those of keys, or of virtual shards.
	ranges []Interval
	// of is the number of virtual shards of a hash map.
	of int64
	// single are listed keys, in order; of a hash map those that differ from their virtual shard.
	single []Key
}

// RangeSet has the keys of some ranges.
func RangeSet(types []Type, ranges []Interval) *Set {
	return &Set{types: types, ranges: Joined(ranges)}
}

// ListSet has single keys.
func ListSet(types []Type, keys []Key) *Set {
	return &Set{types: types, single: ordered(keys)}
}

// HashSet has the keys of some virtual shards, and differs from them in single keys.
func HashSet(types []Type, of int64, buckets []Interval, exceptions []Key) *Set {
	return &Set{types: types, of: of, ranges: Joined(buckets), single: ordered(exceptions)}
}

// Contains reports whether a key that was converted to the types is in the set.
func (s *Set) Contains(wanted Key) bool {
	at := sort.Search(len(s.single), func(at int) bool { return !s.single[at].Less(wanted) })
	isSingle := at < len(s.single) && s.single[at] == wanted
	if s.of > 0 {
		return s.HasBucketOf(wanted) != isSingle
	}
	return isSingle || contains(s.ranges, wanted)
}

// HasBucketOf reports whether the virtual shard of the key is in a range of the set.
func (s *Set) HasBucketOf(wanted Key) bool {
	return contains(s.ranges, OfBucket(wanted.Bucket(s.types, s.of)))
}

// Predicate is the SQL condition for the rows of the set. columns are the SQL names of the key's columns.
func (s *Set) Predicate(columns []string) (string, error) {
	if len(columns) != len(s.types) {
		names := strings.Join(columns, ", ")
		return "", &Error{fmt.Sprintf("%s: %d column(s), the key has %d", names, len(columns), len(s.types))}
	}
	conditions := s.conditions(columns)
	switch len(conditions) {
	case 0:
		return "(false)", nil
	case 1:
		return conditions[0], nil
	}
	return "(" + strings.Join(conditions, " or ") + ")", nil
}

// conditions are SQL conditions, one of which is true for each row of the set.
func (s *Set) conditions(columns []string) []string {
	var conditions []string
	single := s.single
	if s.of > 0 {
		conditions, single = s.bucketConditions(columns)
	} else {
		for _, interval := range s.ranges {
			conditions = append(conditions, ofRange(s.types, columns, interval))
		}
	}
	if len(single) > 0 {
		conditions = append(conditions, ofList(s.types, columns, single))
	}
	return conditions
}

// bucketConditions are the conditions for the virtual shards without their missing keys, and the keys to add.
func (s *Set) bucketConditions(columns []string) ([]string, []Key) {
	var missing, single []Key
	for _, exception := range s.single {
		if s.HasBucketOf(exception) {
			missing = append(missing, exception)
		} else {
			single = append(single, exception)
		}
	}
	conditions := ofBuckets(s.types, columns, s.of, s.ranges)
	if missing != nil {
		unlisted := ofList(s.types, columns, missing)
		conditions = []string{fmt.Sprintf("((%s) and not %s)", strings.Join(conditions, " or "), unlisted)}
	}
	return conditions, single
}

func contains(ranges []Interval, place Key) bool {
	// The first range that ends behind the place.
	at := sort.Search(len(ranges), func(at int) bool { return ranges[at].NoTo || place.Less(ranges[at].To) })
	return at < len(ranges) && ranges[at].Contains(place)
}

func ordered(keys []Key) []Key {
	sorted := append([]Key(nil), keys...)
	sort.Slice(sorted, func(one, other int) bool { return sorted[one].Less(sorted[other]) })
	unique := sorted[:0]
	for _, one := range sorted {
		if len(unique) == 0 || unique[len(unique)-1] != one {
			unique = append(unique, one)
		}
	}
	return unique
}

// Joined orders intervals, leaves empty ones out, and joins adjacent and overlapping ones.
func Joined(intervals []Interval) []Interval {
	filled := make([]Interval, 0, len(intervals))
	for _, interval := range intervals {
		if !interval.isEmpty() {
			filled = append(filled, interval)
		}
	}
	sort.SliceStable(filled, func(one, other int) bool {
		if filled[one].NoFrom != filled[other].NoFrom {
			return filled[one].NoFrom
		}
		return filled[one].From.Less(filled[other].From)
	})
	joined := filled[:0]
	for _, interval := range filled {
		if len(joined) == 0 {
			joined = append(joined, interval)
			continue
		}
		last := &joined[len(joined)-1]
		reaches := last.NoTo || interval.NoFrom || !last.To.Less(interval.From)
		switch {
		case !reaches:
			joined = append(joined, interval)
		case !last.NoTo && (interval.NoTo || last.To.Less(interval.To)):
			last.To, last.NoTo = interval.To, interval.NoTo
		}
	}
	return joined
}
