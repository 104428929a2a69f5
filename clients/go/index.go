package shardwright

import "shardwright/internal/key"

// index finds the owner of a key by the bounds of the mappings in key order.
//
// For a list map the bounds are the keys, and owners their owners. Otherwise owners has one entry more: the owner below
// the first bound, and then the owner from each bound on. 0 means that there is none.
type index struct {
	isList    bool
	isNumeric bool
	// One of these is used. Separate slices need half of the memory of a slice of keys.
	numbers []int64
	bytes   []string
	owners  []uint32
}

func (x *index) len() int { return len(x.numbers) + len(x.bytes) }

func (x *index) bound(at int) key.Key {
	if x.isNumeric {
		return key.Numeric(x.numbers[at])
	}
	return key.OfBytes(x.bytes[at])
}

func (x *index) append(bound key.Key, owner uint32) {
	if x.isNumeric {
		x.numbers = append(x.numbers, bound.Number())
	} else {
		x.bytes = append(x.bytes, bound.Bytes())
	}
	x.owners = append(x.owners, owner)
}

func (x *index) owner(place key.Key) uint32 {
	at := x.boundsUpTo(place)
	if !x.isList {
		return x.owners[at]
	}
	if at == 0 || x.bound(at-1) != place {
		return 0
	}
	return x.owners[at-1]
}

// boundsUpTo is the number of bounds that are not above a place.
func (x *index) boundsUpTo(place key.Key) int {
	if x.isNumeric {
		return countUpTo(x.numbers, place.Number())
	}
	return countUpTo(x.bytes, place.Bytes())
}

func countUpTo[T int64 | string](bounds []T, place T) int {
	low, high := 0, len(bounds)
	for low < high {
		middle := int(uint(low+high) / 2)
		if bounds[middle] <= place {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// keysOf are the listed keys of an owner.
func (x *index) keysOf(number uint32) []key.Key {
	var keys []key.Key
	for at, owner := range x.owners {
		if owner == number {
			keys = append(keys, x.bound(at))
		}
	}
	return keys
}

// rangesOf are the ranges of an owner.
func (x *index) rangesOf(number uint32) []key.Interval {
	var ranges []key.Interval
	for at, owner := range x.owners {
		if owner != number {
			continue
		}
		interval := key.Interval{NoFrom: at == 0, NoTo: at == x.len()}
		if !interval.NoFrom {
			interval.From = x.bound(at - 1)
		}
		if !interval.NoTo {
			interval.To = x.bound(at)
		}
		ranges = append(ranges, interval)
	}
	return ranges
}
