package shardwright

import (
	"encoding/json"
	"errors"
	"math/rand"
	"reflect"
	"testing"
)

type testMapping struct {
	Keys  map[string]any `json:"keys"`
	Shard string         `json:"shard"`
}

func readTestMap(strategy string, version int64, mappings ...testMapping) (*Routes, error) {
	document := map[string]any{
		"name": "m", "strategy": strategy, "key": []string{"bigint"}, "version": version, "incarnation": "i",
		"mappings": mappings,
	}
	if strategy == hashStrategy {
		document["buckets"] = 4
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	return ReadRoutes(text)
}

func testRange(shard string, ends map[string]int64) testMapping {
	return testMapping{map[string]any{"range": []any{ends}}, shard}
}

func TestEveryKeyOfARandomMapHasItsOwner(t *testing.T) {
	random := rand.New(rand.NewSource(5))
	owners := map[int64]string{}
	var mappings []testMapping
	for at, end := int64(-1000), int64(0); at < 1000; at = end {
		end = at + 1 + random.Int63n(20)
		if shard := string("abcd."[random.Intn(5)]); shard != "." {
			mappings = append(mappings, testRange(shard, map[string]int64{"from": at, "to": end}))
			for key := at; key < end; key++ {
				owners[key] = shard
			}
		}
	}
	random.Shuffle(len(mappings), func(a, b int) { mappings[a], mappings[b] = mappings[b], mappings[a] })
	routes, err := readTestMap(rangeStrategy, 1, mappings...)
	if err != nil {
		t.Fatal(err)
	}
	for number := int64(-1010); number < 1030; number++ {
		shard, err := routes.ShardFor(number)
		if shard != owners[number] || (owners[number] == "") != errors.Is(err, ErrUnmapped) {
			t.Errorf("%d: %q, %v", number, shard, err)
		}
		accepted, _ := routes.accept(number)
		for _, one := range routes.Shards() {
			if routes.ownedBy(one).Contains(accepted) != (one == owners[number]) {
				t.Errorf("%d is in the wrong set of %s", number, one)
			}
		}
	}
}

func TestInvalidMapsAreRefused(t *testing.T) {
	hash := func(shard string, from, to int64, except ...int64) testMapping {
		ranges := []any{map[string]int64{"from": from, "to": to}}
		return testMapping{map[string]any{"hash": map[string]any{"of": 4, "ranges": ranges, "except": except}}, shard}
	}
	list := func(shard string, keys ...any) testMapping {
		return testMapping{map[string]any{"list": keys}, shard}
	}
	for name, mappings := range map[string][]testMapping{
		"overlap":        {testRange("a", map[string]int64{"to": 9}), testRange("b", map[string]int64{"from": 8})},
		"no lower end":   {testRange("a", map[string]int64{"to": 9}), testRange("b", map[string]int64{"to": 8})},
		"other strategy": {list("a", 1)},
		"two owners":     {list("a", 1, 2), list("b", 2)},
		"not a key":      {list("a", "x")},
		"other buckets":  {hash("a", 0, 5)},
		"no owner":       {hash("a", 0, 4, 1)},
	} {
		strategy := map[string]string{
			"two owners": listStrategy, "not a key": listStrategy, "other buckets": hashStrategy, "no owner": hashStrategy,
		}[name]
		if strategy == "" {
			strategy = rangeStrategy
		}
		if _, err := readTestMap(strategy, 1, mappings...); !errors.Is(err, ErrMap) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"", "{}", "[1]", `{"name":"m"}`} {
		if _, err := ReadRoutes([]byte(text)); !errors.Is(err, ErrMap) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestEventsSurviveAnyCutOfTheStream(t *testing.T) {
	text := []byte(": a\n\nevent: map\nid: 7\ndata: {\"ä\":1}\n\nevent: map\r\ndata: x\r\ndata: y\r\n\r\n")
	wanted := []event{{"map", []byte(`{"ä":1}`)}, {"map", []byte("x\ny")}}
	for size := 1; size <= len(text); size++ {
		var parser eventParser
		var events []event
		for at := 0; at < len(text); at += size {
			end := at + size
			if end > len(text) {
				end = len(text)
			}
			events = append(events, parser.push(text[at:end])...)
		}
		if !reflect.DeepEqual(events, wanted) {
			t.Errorf("in pieces of %d bytes: %v", size, events)
		}
	}
}

func TestOnlyProgramsThatListenCountForTheTokenOfThisMachine(t *testing.T) {
	table := "  sl  local_address rem_address st tx rx tr tm retrnsmt uid timeout inode\n" +
		"   0: 0100007F:1D08 00000000:0000 0A 00000000:00000000 00:00000000 00000000 1000 0 1\n" +
		"   1: 0100007F:1D08 0100007F:A000 01 00000000:00000000 00:00000000 00000000 4711 0 2\n"
	if found := listeningAccounts(table, 7432); !reflect.DeepEqual(found, []int{1000}) {
		t.Errorf("%v", found)
	}
	if found := listeningAccounts(table, 7433); found != nil {
		t.Errorf("%v", found)
	}
}

func TestTheMostUsedKeysStay(t *testing.T) {
	routes, err := readTestMap(rangeStrategy, 1, testRange("a", map[string]int64{}))
	if err != nil {
		t.Fatal(err)
	}
	summary := newLoadSummary(routes)
	for number := 0; number < 10*maxReportedKeys; number++ {
		for _, used := range []int{-1, number} {
			accepted, _ := routes.accept(used)
			summary.count(routes, accepted)
		}
	}
	_, taken := summary.take()
	_, rest := summary.take()
	if len(taken) > maxReportedKeys || taken[0].key.Number() != -1 || len(rest) != 0 {
		t.Errorf("%d keys, first %v", len(taken), taken[0])
	}
}
