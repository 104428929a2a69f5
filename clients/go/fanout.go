package shardwright

import (
	"context"
	"strings"
	"sync"

	"shardwright/internal/key"
)

// Part is a shard, and the keys that it owns in the version of the map that a query uses.
type Part struct {
	Shard string
	keys  *key.Set
	// conditions are those that Predicate returned, for shadow mode.
	conditions *conditions
}

type conditions struct {
	mutex sync.Mutex
	texts []string
}

// Predicate returns an SQL condition for the rows whose key the shard owns.
//
// columns are the SQL names of the key's columns, such as tenant_id or o.tenant_id. While keys move, two shards have
// their rows; with this condition each row is read on one shard only. On a list map the condition contains every key of
// the shard. The error, of the kind ErrNotAKey, says that the key has another number of columns.
func (p Part) Predicate(columns ...string) (string, error) {
	condition, err := p.keys.Predicate(columns)
	if err != nil {
		return "", NewError(ErrNotAKey, err.Error(), nil)
	}
	p.conditions.mutex.Lock()
	defer p.conditions.mutex.Unlock()
	p.conditions.texts = append(p.conditions.texts, condition)
	return condition, nil
}

// isConditionIn reports whether a statement contains the condition of the part.
func (p Part) isConditionIn(sql string) bool {
	p.conditions.mutex.Lock()
	defer p.conditions.mutex.Unlock()
	for _, condition := range p.conditions.texts {
		if strings.Contains(sql, condition) {
			return true
		}
	}
	return false
}

// Answer is the answer or the error of a shard.
type Answer[R any] struct {
	Shard string
	Value R
	Err   error
}

// FanOut has the answers of the shards.
type FanOut[R any] struct {
	// Version is the version of the map that the query used.
	Version int64
	// Newer is the version in the cache when the last shard answered, if it is another one; otherwise 0. Then keys have
	// changed their owner meanwhile, and the old owner may already have removed their rows.
	Newer int64
	// Answers are those of the shards that own keys, ordered by their names.
	Answers []Answer[R]
}

// Values returns the answers of all shards, ordered by the names of the shards, or the first error.
func (f *FanOut[R]) Values() ([]R, error) {
	values := make([]R, len(f.Answers))
	for at, answer := range f.Answers {
		if answer.Err != nil {
			return nil, answer.Err
		}
		values[at] = answer.Value
	}
	return values, nil
}

// OnAll runs work(part, tx) on every shard that owns keys, on at most limit at the same time.
//
// Each runs in a read-only transaction with one snapshot, and again from its start if a connection is lost. If a shard
// does not answer, the result contains its error and the answers of the others. The error, of the kind ErrStale, says
// that the map is too old for any query.
func OnAll[T, R any](
	ctx context.Context, m *Map[T], limit int, work func(part Part, tx T) (R, error),
) (*FanOut[R], error) {
	routes, err := m.core.cache.fresh()
	if err != nil {
		return nil, err
	}
	result := &FanOut[R]{Version: routes.version, Answers: make([]Answer[R], len(routes.shards))}
	if limit < 1 {
		limit = 1
	}
	slots, running := make(chan struct{}, limit), sync.WaitGroup{}
	for at, shard := range routes.shards {
		part, answer := Part{shard, routes.ownedBy(shard), &conditions{}}, &result.Answers[at]
		slots <- struct{}{}
		running.Add(1)
		go func() {
			defer func() { <-slots; running.Done() }()
			answer.Shard = part.Shard
			answer.Value, answer.Err = query(ctx, m, part, work)
		}()
	}
	running.Wait()
	if current := m.Routes().version; current != routes.version {
		result.Newer = current
	}
	return result, nil
}

func query[T, R any](ctx context.Context, m *Map[T], part Part, work func(part Part, tx T) (R, error)) (R, error) {
	var value R
	err := m.core.repeat(ctx, call{
		next: func() (string, int64, error) { return part.Shard, m.Routes().version, nil },
		run: func(attempt *attempt) error {
			return m.transact(ctx, attempt, snapshot, m.inQuery(part, func(tx T) (err error) {
				value, err = work(part, tx)
				return err
			}))
		},
		giveUpKind: ErrNoAnswer,
		subject:    func() string { return "shard " + part.Shard },
	})
	return value, err
}
