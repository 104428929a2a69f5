package shardwright

import (
	"sort"

	"shardwright/internal/key"
)

// builder builds the index of a map, and checks that each key has one owner at most.
type builder struct {
	*Routes
	pieces  []piece
	missing map[key.Key]bool
}

// piece is a range of keys or of virtual shards, with its owner.
type piece struct {
	key.Interval
	owner uint32
}

func newBuilder(routes *Routes) *builder {
	return &builder{Routes: routes, missing: map[key.Key]bool{}}
}

func (b *builder) build(mappings []jsonMapping) error {
	b.exceptions = map[key.Key]uint32{}
	b.index.isList = b.strategy == listStrategy
	b.index.isNumeric = b.buckets > 0 || key.IsNumeric(b.types)
	add := map[string]func(jsonMapping, uint32) error{
		rangeStrategy: b.addRanges, hashStrategy: b.addBuckets, listStrategy: b.addList,
	}[b.strategy]
	for _, mapping := range mappings {
		if err := add(mapping, b.numberOf(mapping.Shard)); err != nil {
			return err
		}
	}
	for missing := range b.missing {
		if b.exceptions[missing] == 0 {
			shown := missing.Display(b.types)
			return errorf(ErrMap, "map %s: its virtual shards except key %s, which has no owner", b.name, shown)
		}
	}
	b.sortPieces()
	if b.index.isList {
		return b.addListedPieces()
	}
	return b.addPieces()
}

func (b *builder) addRanges(mapping jsonMapping, owner uint32) error {
	if len(mapping.Keys.Range) == 0 {
		return b.otherStrategy(mapping)
	}
	for _, entry := range mapping.Keys.Range {
		interval, err := entry.Interval(b.types)
		if err != nil {
			return err
		}
		if interval.NoFrom || interval.NoTo || interval.From.Less(interval.To) {
			b.pieces = append(b.pieces, piece{interval, owner})
		}
	}
	return nil
}

func (b *builder) addBuckets(mapping jsonMapping, owner uint32) error {
	buckets := mapping.Keys.Hash
	if buckets == nil {
		return b.otherStrategy(mapping)
	}
	isOfMap := buckets.Of == b.buckets
	for _, entry := range buckets.Ranges {
		isOfMap = isOfMap && 0 <= entry.From && entry.From <= entry.To && entry.To <= b.buckets
	}
	if !isOfMap {
		return errorf(ErrMap, "map %s: virtual shards of %s are not those of the map", b.name, mapping.Shard)
	}
	intervals := buckets.Intervals()
	for _, interval := range intervals {
		if interval.From != interval.To {
			b.pieces = append(b.pieces, piece{interval, owner})
		}
	}
	return b.addExceptions(buckets.Except, intervals, owner)
}

func (b *builder) addExceptions(texts []key.JSONKey, own []key.Interval, owner uint32) error {
	exceptions, err := key.AcceptAll(b.types, texts)
	for _, exception := range exceptions {
		place, isMissing := key.OfBucket(exception.Bucket(b.types, b.buckets)), false
		for _, interval := range own {
			isMissing = isMissing || interval.Contains(place)
		}
		switch known := b.exceptions[exception]; {
		case isMissing:
			b.missing[exception] = true
		case known != 0 && known != owner:
			return b.twoOwners(exception)
		default:
			b.exceptions[exception] = owner
		}
	}
	return err
}

func (b *builder) addList(mapping jsonMapping, owner uint32) error {
	if len(mapping.Keys.List) == 0 {
		return b.otherStrategy(mapping)
	}
	keys, err := key.AcceptAll(b.types, mapping.Keys.List)
	for _, listed := range keys {
		b.pieces = append(b.pieces, piece{key.Interval{From: listed}, owner})
	}
	return err
}

// sortPieces orders the pieces by their starts; one without a start is first.
func (b *builder) sortPieces() {
	sort.SliceStable(b.pieces, func(one, other int) bool {
		if b.pieces[one].NoFrom || b.pieces[other].NoFrom {
			return b.pieces[one].NoFrom && !b.pieces[other].NoFrom
		}
		return b.pieces[one].From.Less(b.pieces[other].From)
	})
}

func (b *builder) addListedPieces() error {
	for at, listed := range b.pieces {
		if at == 0 || b.pieces[at-1].From != listed.From {
			b.index.append(listed.From, listed.owner)
		} else if b.pieces[at-1].owner != listed.owner {
			return b.twoOwners(listed.From)
		}
	}
	return nil
}

func (b *builder) addPieces() error {
	x := &b.index
	x.owners = append(x.owners, 0)
	for at, next := range b.pieces {
		if at > 0 {
			last := b.pieces[at-1]
			if next.NoFrom {
				return errorf(ErrMap, "map %s: two ranges have no lower end", b.name)
			}
			if last.NoTo || next.From.Less(last.To) {
				return errorf(ErrMap, "map %s: mappings overlap at %s", b.name, b.shown(next.From))
			}
		}
		isAdjacent := at > 0 && b.pieces[at-1].To == next.From
		if next.NoFrom || isAdjacent {
			x.owners[len(x.owners)-1] = next.owner
		} else {
			x.append(next.From, next.owner)
		}
		if !next.NoTo {
			x.append(next.To, 0)
		}
	}
	return nil
}

func (b *builder) shown(place key.Key) string {
	if b.buckets > 0 {
		return "virtual shard " + place.Display([]key.Type{key.Bigint})
	}
	return place.Display(b.types)
}

func (b *builder) otherStrategy(mapping jsonMapping) error {
	return errorf(ErrMap, "map %s: a key set of shard %s is empty, or of another strategy", b.name, mapping.Shard)
}

func (b *builder) twoOwners(of key.Key) error {
	return errorf(ErrMap, "map %s: key %s has two owners", b.name, of.Display(b.types))
}
