package shardwright

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// core is what a Map does without a driver: lookups, counters, and the decision after each attempt.
type core struct {
	feed     *feed
	cache    *cache
	counters *counters
	options  Options
}

// shardFor returns the shard that owns the key. It counts the lookup.
func (c *core) shardFor(value any) (string, error) {
	c.counters.lookups.Add(1)
	shard, err := c.find(value)
	if err != nil {
		c.counters.lookupsRefused.Add(1)
	}
	return shard, err
}

func (c *core) find(value any) (string, error) {
	routes, err := c.cache.fresh()
	if err != nil {
		return "", err
	}
	accepted, err := routes.accept(value)
	if err != nil {
		return "", err
	}
	shard, err := routes.shardOf(accepted)
	if err == nil && c.feed.load != nil {
		c.feed.load.count(routes, accepted)
	}
	return shard, err
}

// call is one call of the application, which may need several attempts.
type call struct {
	// next returns the shard of the next attempt, and the version of the map by which it was routed.
	next func() (string, int64, error)
	run  func(*attempt) error
	// giveUpKind and subject are those of the error when the time for retries has ended.
	giveUpKind *Kind
	subject    func() string
}

// repeat runs attempts until one succeeds, or until an error ends them.
func (c *core) repeat(ctx context.Context, call call) error {
	begun, pauses := time.Now(), newPauses(c.options.FirstPause, c.options.LongestPause)
	for attempts := 1; ; attempts++ {
		shard, version, err := call.next()
		if err != nil {
			return err
		}
		attempt := &attempt{shard: shard}
		err = call.run(attempt)
		if err == nil {
			return nil
		}
		if final := c.finalError(ctx, err, attempt); final != nil {
			return final
		}
		length, waited := pauses.next(), time.Since(begun)
		note := fmt.Sprintf("%s: gave up after %d attempt(s) in %.1f s: %v", call.subject(), attempts, waited.Seconds(), err)
		if waited+length > c.options.RetryFor {
			return NewError(call.giveUpKind, note, err)
		}
		c.countRetry(attempt.remedyOf(err))
		// A newer map ends the pause early, regardless of the reason for the pause.
		if err := c.waitForNewer(ctx, version, length); err != nil {
			return NewError(call.giveUpKind, note+": "+err.Error(), err)
		}
	}
}

// finalError is what the application receives; nil if another attempt may follow.
func (c *core) finalError(ctx context.Context, err error, attempt *attempt) error {
	if attempt.stage == committing && !attempt.isRefused {
		c.counters.commitsUnknown.Add(1)
		what := fmt.Sprintf("the connection to shard %s was lost during the commit", attempt.shard)
		return NewError(ErrCommitUnknown, what+"; the outcome of the transaction is unknown", err)
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		if attempt.stage == connecting && !errors.Is(err, ctxErr) {
			return fmt.Errorf("cannot connect to shard %s: %w: %v", attempt.shard, ctxErr, err)
		}
		return err
	}
	if attempt.remedyOf(err) != none {
		return nil
	}
	if attempt.stage == connecting && !isOwn(err) {
		return NewError(ErrConnect, fmt.Sprintf("cannot connect to shard %s: %v", attempt.shard, err), err)
	}
	return err
}

func (c *core) countRetry(remedy remedy) {
	c.counters.retries.Add(1)
	switch remedy {
	case refreshNotOwner:
		c.counters.notOwner.Add(1)
	case refreshNotOpen:
		c.counters.notOpen.Add(1)
	}
}

// waitForNewer waits until the cache has a version above known, but for at most length. Then it reads the map itself.
func (c *core) waitForNewer(ctx context.Context, known int64, length time.Duration) error {
	isNewer, err := c.cache.waitForNewer(ctx, known, length)
	if err == nil && !isNewer {
		c.feed.readAgain(ctx)
	}
	return err
}

// transact runs one attempt of a transaction on a connection of the pool. It records in attempt how far it got.
func transact[T any](
	ctx context.Context, pool *pool[T], timeout time.Duration, attempt *attempt, options TxOptions, work func(T) error,
) error {
	session, err := pool.take(ctx, timeout)
	if err != nil {
		return err
	}
	attempt.stage = working
	// Also if the function panics.
	defer pool.giveBack(session)
	err = perform(ctx, session, attempt, options, work)
	if err != nil && session.Status() == Closed && !isEndOfContext(err) {
		attempt.isLost = isNetwork(err) || session.WasNotSent(err)
	}
	return err
}

func perform[T any](
	ctx context.Context, session Session[T], attempt *attempt, options TxOptions, work func(T) error,
) error {
	tx, err := session.Begin(ctx, options)
	if err != nil {
		return err
	}
	if err := work(tx); err != nil {
		// What the function has committed itself must not be repeated.
		if session.Status() == Idle {
			return errorf(ErrTransactionEnded, "the function ended its transaction on shard %s, then failed: %v", attempt.shard, err)
		}
		return err
	}
	if err := checkBeforeCommit(attempt.shard, session.Status()); err != nil || options.readOnly {
		return err
	}
	// A commit that is not sent has no unknown outcome.
	if err := ctx.Err(); err != nil {
		return err
	}
	attempt.stage = committing
	err = session.Commit(ctx)
	if err != nil && session.WasNotSent(err) {
		attempt.stage = working
	}
	attempt.isRefused = isOwn(err) || (session.Status() == Idle && isRefusal(SQLState(err)))
	return err
}

// isRefusal reports whether an error at the commit means that nothing was committed. A pooler reports with the SQLSTATEs of
// ended sessions that it has lost the server, and then keeps its own session.
func isRefusal(state string) bool {
	for _, ended := range []string{"57P", "08", "XX"} {
		if strings.HasPrefix(state, ended) {
			return false
		}
	}
	return state != ""
}

// checkBeforeCommit returns an error if a commit would not commit the work.
func checkBeforeCommit(shard string, status Status) error {
	switch status {
	case InTransaction:
		return nil
	case Idle:
		return errorf(ErrTransactionEnded, "the function ended its transaction on shard %s", shard)
	case Closed:
		// The function has ignored it, or not seen it. A commit that is not sent has no unknown outcome.
		return fmt.Errorf("the connection to shard %s was lost before the commit was sent: %w", shard, net.ErrClosed)
	case Busy:
		return errorf(ErrRowsOpen,
			"the function left a query open; the transaction on shard %s was rolled back", shard)
	default:
		return errorf(ErrFailedStatementIgnored,
			"the function ignored a failed statement; the transaction on shard %s was rolled back", shard)
	}
}
