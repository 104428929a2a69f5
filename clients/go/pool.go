package shardwright

import (
	"context"
	"sync"
	"time"
)

// A caller has to know at once why a connection cannot be opened: that decides whether a retry helps. So a pool is a
// list of idle connections and a limit.

// rollbackTimeout is the limit of a rollback, whose caller's context may have ended.
const rollbackTimeout = 5 * time.Second

// pool has the connections to one shard.
type pool[T any] struct {
	shard  string
	driver Driver[T]
	slots  chan struct{}

	mutex sync.Mutex
	// idle are the idle connections, the last used at the end.
	idle []Session[T]
	// keepsNone is set while the shard owns no keys, and when the map is closed.
	keepsNone bool
}

// take returns an idle connection, or opens one.
func (p *pool[T]) take(ctx context.Context, timeout time.Duration) (Session[T], error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if idle := p.takeIdle(); idle != nil {
		return idle, nil
	}
	opened, err := p.driver.Open(ctx, p.shard, timeout)
	if err != nil {
		<-p.slots
		return nil, err
	}
	return opened, nil
}

func (p *pool[T]) takeIdle() Session[T] {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for len(p.idle) > 0 {
		last := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if last.Status() == Idle {
			return last
		}
	}
	return nil
}

// giveBack ends a loan. A connection whose transaction has not ended is rolled back or closed.
func (p *pool[T]) giveBack(session Session[T]) {
	defer func() { <-p.slots }()
	status := session.Status()
	if status == Closed {
		// The others are lost too, if the server was restarted.
		p.closeIdle()
		return
	}
	if status == InTransaction || status == Failed {
		ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
		defer cancel()
		_ = session.Rollback(ctx)
	}
	if !p.putIdle(session) {
		session.Close()
	}
}

func (p *pool[T]) putIdle(session Session[T]) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.keepsNone || session.Status() != Idle {
		return false
	}
	p.idle = append(p.idle, session)
	return true
}

func (p *pool[T]) closeIdle() {
	p.mutex.Lock()
	idle := p.idle
	p.idle = nil
	p.mutex.Unlock()
	for _, session := range idle {
		session.Close()
	}
}

// setKept says whether connections are kept when a loan ends.
func (p *pool[T]) setKept(isKept bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.keepsNone = !isKept
}

// pools are the pools of all shards, each created on first use.
type pools[T any] struct {
	driver Driver[T]
	limit  int

	mutex    sync.Mutex
	pools    map[string]*pool[T]
	isClosed bool
}

func newPools[T any](driver Driver[T], limit int) *pools[T] {
	return &pools[T]{driver: driver, limit: limit, pools: map[string]*pool[T]{}}
}

func (p *pools[T]) of(shard string) (*pool[T], error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.isClosed {
		return nil, errorf(ErrClosed, "the map is closed")
	}
	if p.pools[shard] == nil {
		p.pools[shard] = &pool[T]{shard: shard, driver: p.driver, slots: make(chan struct{}, p.limit)}
	}
	return p.pools[shard], nil
}

// release closes idle connections to shards that own no keys any more: the operator may want to remove the shard.
func (p *pools[T]) release(routes *Routes) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for shard, one := range p.pools {
		isOwner := shard == oneDatabase || routes.numberOf(shard) != 0
		one.setKept(isOwner && !p.isClosed)
		if !isOwner {
			// The feed does not wait for a server that does not answer.
			go one.closeIdle()
		}
	}
}

func (p *pools[T]) close() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.isClosed = true
	for _, one := range p.pools {
		one.setKept(false)
		one.closeIdle()
	}
}
