package main

import (
	"errors"
	"os"
	"runtime"
	"sort"
	"strconv"
	"time"

	"shardwright"
	"shardwright/internal/key"
)

// The requests that need no connection: keys, sets and maps.

func keysOf(request *request) any {
	found := make([]any, len(request.Values))
	for at, value := range request.Values {
		accepted, err := key.Accept(request.Types, value)
		if err != nil {
			found[at] = map[string]string{"error": "not_a_key"}
			continue
		}
		buckets := make([]int64, len(request.Of))
		for at, of := range request.Of {
			buckets[at] = accepted.Bucket(request.Types, of)
		}
		hash := strconv.FormatInt(int64(accepted.Hash(request.Types)), 10)
		found[at] = map[string]any{"texts": accepted.Texts(request.Types), "hash": hash, "buckets": buckets}
	}
	return found
}

func acceptAll(types []key.Type, values []any) ([]key.Key, error) {
	keys := make([]key.Key, len(values))
	for at, value := range values {
		accepted, err := key.Accept(types, value)
		if err != nil {
			return nil, err
		}
		keys[at] = accepted
	}
	return keys, nil
}

func sorted(request *request) (any, error) {
	keys, err := acceptAll(request.Types, request.Values)
	positions := make([]int, len(keys))
	for at := range positions {
		positions[at] = at
	}
	sort.Slice(positions, func(one, other int) bool { return keys[positions[one]].Less(keys[positions[other]]) })
	return positions, err
}

func setsOf(request *request) (any, error) {
	keys, err := acceptAll(request.Types, request.Keys)
	if err != nil {
		return nil, err
	}
	found := make([]any, len(request.Sets))
	for at, document := range request.Sets {
		set, err := key.ReadSet(request.Types, document)
		if err != nil {
			return nil, err
		}
		members := []int{}
		for at, one := range keys {
			if set.Contains(one) {
				members = append(members, at)
			}
		}
		predicate, err := set.Predicate(request.Columns)
		if err != nil {
			return nil, err
		}
		found[at] = map[string]any{"members": members, "predicate": predicate}
	}
	return found, nil
}

func routesOf(request *request) (any, error) {
	routes, err := shardwright.ReadRoutes([]byte(request.Text))
	if err != nil {
		return nil, err
	}
	shards := make([]any, len(request.Keys))
	for at, value := range request.Keys {
		shard, err := routes.ShardFor(value)
		switch {
		case err == nil:
			shards[at] = shard
		case !errors.Is(err, shardwright.ErrUnmapped):
			return nil, err
		}
	}
	predicates := map[string]string{}
	for _, shard := range routes.Shards() {
		if predicates[shard], err = routes.PredicateFor(shard, request.Columns...); err != nil {
			return nil, err
		}
	}
	return map[string]any{"shards": shards, "predicates": predicates}, nil
}

func measure(request *request) (any, error) {
	text, err := os.ReadFile(request.Path)
	if err != nil {
		return nil, err
	}
	keys := make([]any, len(request.Keys))
	for at, value := range request.Keys {
		// An application has numbers, not the text of the JSON.
		keys[at] = value
		if number, isNumber := value.(interface{ Int64() (int64, error) }); isNumber {
			keys[at], _ = number.Int64()
		}
	}
	before, begun := heap(), time.Now()
	routes, err := shardwright.ReadRoutes(text)
	if err != nil {
		return nil, err
	}
	loaded := time.Now()
	shards := make([]string, len(keys))
	for at, value := range keys {
		if shards[at], err = routes.ShardFor(value); err != nil {
			return nil, err
		}
	}
	took := time.Since(loaded)
	memory := heap() - before
	runtime.KeepAlive(text)
	runtime.KeepAlive(routes)
	return map[string]any{
		"shards": shards, "load_seconds": loaded.Sub(begun).Seconds(),
		"lookup_micros": took.Seconds() * 1e6 / float64(len(keys)), "memory_mib": memory,
	}, nil
}

// heap is the memory in use in MiB.
func heap() float64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / (1 << 20)
}
