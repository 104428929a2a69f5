package shardwright

import (
	"reflect"
	"sort"

	"shardwright/internal/key"
)

// Routes is one version of a shard map, prepared for lookups: the version of a Map, or a map from another source.
//
// The index has the bounds of the mappings in key order, or the listed keys, and for each the number of an owner.
// Numeric keys are stored as 64-bit numbers. Routes never change, so goroutines can share them.
type Routes struct {
	name, incarnation, strategy string
	version                     int64
	types                       []key.Type
	buckets                     int64
	settings                    Settings
	shards                      []string
	index                       index
	exceptions                  map[key.Key]uint32
}

const (
	rangeStrategy = "range"
	hashStrategy  = "hash"
	listStrategy  = "list"
	maxBuckets    = 1 << 24
	maxColumns    = 3
)

// ReadRoutes reads the JSON of a map, checks it and builds the index. The error is of the kind ErrMap.
func ReadRoutes(document []byte) (*Routes, error) {
	parsed, err := readMap(document)
	if err != nil {
		return nil, err
	}
	routes := &Routes{
		name: parsed.Name, version: *parsed.Version, incarnation: parsed.Incarnation, strategy: parsed.Strategy,
		types: parsed.Key, buckets: parsed.Buckets, settings: parsed.Settings,
	}
	routes.setShards(parsed.Mappings)
	if problem := routes.problem(); problem != "" {
		return nil, errorf(ErrMap, "map %s: %s", routes.name, problem)
	}
	if err := newBuilder(routes).build(parsed.Mappings); err != nil {
		if isOwn(err) {
			return nil, err
		}
		return nil, NewError(ErrMap, "map "+routes.name+": "+err.Error(), err)
	}
	return routes, nil
}

// Name is the name of the map.
func (r *Routes) Name() string { return r.name }

// Version is the version of the map.
func (r *Routes) Version() int64 { return r.version }

// Strategy is range, hash or list.
func (r *Routes) Strategy() string { return r.strategy }

// Settings are the settings of the map: its tables with their key columns.
func (r *Routes) Settings() Settings { return r.settings }

// KeyTypes are the types of the key's columns, as PostgreSQL names them.
func (r *Routes) KeyTypes() []string {
	names := make([]string, len(r.types))
	for at, kind := range r.types {
		names[at] = string(kind)
	}
	return names
}

// Shards are the shards that own keys, ordered by name.
func (r *Routes) Shards() []string { return append([]string(nil), r.shards...) }

// ShardFor returns the shard that owns the key. The error is of the kind ErrUnmapped, or ErrNotAKey.
func (r *Routes) ShardFor(value any) (string, error) {
	accepted, err := r.accept(value)
	if err != nil {
		return "", err
	}
	return r.shardOf(accepted)
}

// PredicateFor returns the SQL condition for the rows whose key the shard owns. columns are the SQL names of the key's
// columns.
func (r *Routes) PredicateFor(shard string, columns ...string) (string, error) {
	condition, err := r.ownedBy(shard).Predicate(columns)
	if err != nil {
		return "", NewError(ErrNotAKey, err.Error(), nil)
	}
	return condition, nil
}

func (r *Routes) accept(value any) (key.Key, error) {
	accepted, err := accept(r.types, value)
	if err != nil {
		return key.Key{}, errorf(ErrNotAKey, "%v, and so no key of map %s", err, r.name)
	}
	return accepted, nil
}

// display is a key of this version in messages.
func (r *Routes) display(value any) string {
	accepted, err := r.accept(value)
	if err != nil {
		return err.Error()
	}
	return accepted.Display(r.types)
}

// hasSameKeyAs reports whether a key of the other version is the same key in this one: neither its types nor its columns
// differ.
func (r *Routes) hasSameKeyAs(other *Routes) bool {
	return reflect.DeepEqual(r.types, other.types) && reflect.DeepEqual(r.settings.Tables, other.settings.Tables)
}

// shardOf returns the owner of a key that was converted.
func (r *Routes) shardOf(accepted key.Key) (string, error) {
	var owner uint32
	if len(r.exceptions) > 0 {
		owner = r.exceptions[accepted]
	}
	if owner == 0 {
		place := accepted
		if r.buckets > 0 {
			place = key.OfBucket(accepted.Bucket(r.types, r.buckets))
		}
		owner = r.index.owner(place)
	}
	if owner == 0 {
		shown := accepted.Display(r.types)
		return "", errorf(ErrUnmapped, "key %s is in no mapping of map %s version %d", shown, r.name, r.version)
	}
	return r.shards[owner-1], nil
}

// ownedBy returns all keys that a shard owns.
func (r *Routes) ownedBy(shard string) *key.Set {
	number := r.numberOf(shard)
	if r.strategy == listStrategy {
		return key.ListSet(r.types, r.index.keysOf(number))
	}
	ranges := r.index.rangesOf(number)
	if r.strategy == rangeStrategy {
		return key.RangeSet(r.types, ranges)
	}
	plain := key.HashSet(r.types, r.buckets, ranges, nil)
	var exceptions []key.Key
	for exception, owner := range r.exceptions {
		if plain.HasBucketOf(exception) != (owner == number) {
			exceptions = append(exceptions, exception)
		}
	}
	return key.HashSet(r.types, r.buckets, ranges, exceptions)
}

func (r *Routes) setShards(mappings []jsonMapping) {
	known := map[string]bool{}
	for _, mapping := range mappings {
		if !known[mapping.Shard] {
			known[mapping.Shard] = true
			r.shards = append(r.shards, mapping.Shard)
		}
	}
	sort.Strings(r.shards)
}

// numberOf is the number of an owner in the index; 0 stands for none.
func (r *Routes) numberOf(shard string) uint32 {
	at := sort.SearchStrings(r.shards, shard)
	if at < len(r.shards) && r.shards[at] == shard {
		return uint32(at + 1)
	}
	return 0
}

// problem says why the library cannot use a map of this form.
func (r *Routes) problem() string {
	columns, isHash := len(r.types), r.strategy == hashStrategy
	for _, kind := range r.types {
		if !kind.IsKnown() {
			return "the key type " + string(kind) + " is unknown to this version of the library"
		}
	}
	switch {
	case !isHash && r.strategy != rangeStrategy && r.strategy != listStrategy:
		return "the strategy " + r.strategy + " is unknown to this version of the library"
	case columns < 1 || columns > maxColumns:
		return "a key has 1 to 3 columns"
	case columns > 1 && r.strategy != rangeStrategy:
		return "a " + r.strategy + " map has one key column"
	case isHash && (r.buckets <= 0 || r.buckets > maxBuckets || r.buckets&(r.buckets-1) != 0):
		return "the number of virtual shards is not a power of two up to 16777216"
	case !isHash && r.buckets != 0:
		return "a " + r.strategy + " map has no virtual shards"
	}
	return ""
}
