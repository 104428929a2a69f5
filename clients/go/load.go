package shardwright

import (
	"context"
	"encoding/json"
	"sort"
	"sync"
	"time"

	"shardwright/internal/key"
)

// maxReportedKeys is the maximum number of keys in a report.
const maxReportedKeys = 512

// loadSummary counts which keys are used most, in the current window.
//
// The memory is limited (a Misra-Gries summary): of n uses in a window at most n / maxReportedKeys are not counted for
// any key, so the report contains every key with more uses than that. If the key of the map changes, the counts of the
// former key are lost.
type loadSummary struct {
	mutex  sync.Mutex
	routes *Routes
	counts map[key.Key]int64
}

func newLoadSummary(routes *Routes) *loadSummary {
	return &loadSummary{routes: routes, counts: map[key.Key]int64{}}
}

// count counts one use of a key of a version of the map.
func (s *loadSummary) count(routes *Routes, used key.Key) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if routes != s.routes {
		if !routes.hasSameKeyAs(s.routes) {
			s.counts = map[key.Key]int64{}
		}
		s.routes = routes
	}
	if _, isKnown := s.counts[used]; !isKnown && len(s.counts) >= 2*maxReportedKeys {
		s.reduce()
	}
	s.counts[used]++
}

// reduce subtracts the count that has exactly maxReportedKeys others before it from every count.
func (s *loadSummary) reduce() {
	counts := make([]int64, 0, len(s.counts))
	for _, count := range s.counts {
		counts = append(counts, count)
	}
	sort.Slice(counts, func(one, other int) bool { return counts[one] > counts[other] })
	subtracted := counts[maxReportedKeys]
	for used, count := range s.counts {
		if count <= subtracted {
			delete(s.counts, used)
		} else {
			s.counts[used] = count - subtracted
		}
	}
}

type keyCount struct {
	key   key.Key
	count int64
}

// take ends the window. It returns the types of its keys, and the keys with the numbers of their uses, the most used
// first.
func (s *loadSummary) take() ([]key.Type, []keyCount) {
	s.mutex.Lock()
	counts, types := s.counts, s.routes.types
	s.counts = map[key.Key]int64{}
	s.mutex.Unlock()
	taken := make([]keyCount, 0, len(counts))
	for used, count := range counts {
		taken = append(taken, keyCount{used, count})
	}
	sort.Slice(taken, func(one, other int) bool {
		if taken[one].count != taken[other].count {
			return taken[one].count > taken[other].count
		}
		return taken[one].key.Less(taken[other].key)
	})
	if len(taken) > maxReportedKeys {
		taken = taken[:maxReportedKeys]
	}
	return types, taken
}

// report sends the counts at the end of each window, until the context ends. A report that no controller accepts is
// lost. No transaction waits for a report.
func (f *feed) report(ctx context.Context, every time.Duration) {
	begun := time.Now()
	for pause(ctx, every) {
		types, counts := f.load.take()
		window := time.Since(begun)
		begun = time.Now()
		if len(counts) == 0 {
			continue
		}
		pairs := make([][2]any, len(counts))
		for at, entry := range counts {
			pairs[at] = [2]any{entry.key.JSON(types), entry.count}
		}
		document := map[string]any{"counts": pairs, "window_ms": window.Milliseconds()}
		body, err := json.Marshal(document)
		address := f.controllers.current()
		if err == nil {
			err = f.controllers.post(ctx, address+"/counters", body)
		}
		if err != nil {
			f.cache.options.logf("the load was not reported: %v", err)
			f.controllers.switchAfterFailure(address)
		}
	}
}
