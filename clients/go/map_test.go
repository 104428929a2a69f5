package shardwright

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// serverError is an error as a driver reports it.
type serverError string

func (e serverError) Error() string    { return string(e) }
func (e serverError) SQLState() string { return string(e) }

// fakeShard records what its sessions did.
type fakeShard struct {
	mutex  sync.Mutex
	events []string
	// commit is what commits answer, once each.
	commit []error
	closed chan string
}

func (f *fakeShard) Open(_ context.Context, shard string, _ time.Duration) (Session[*fakeSession], error) {
	f.record("open " + shard)
	return &fakeSession{f, shard, Idle}, nil
}

func (f *fakeShard) record(event string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.events = append(f.events, event)
}

func (f *fakeShard) recorded() string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return strings.Join(f.events, ", ")
}

type fakeSession struct {
	of     *fakeShard
	shard  string
	status Status
}

var errNotSent = errors.New("not sent")

func (s *fakeSession) Begin(context.Context, TxOptions) (*fakeSession, error) {
	s.of.record("begin")
	s.status = InTransaction
	return s, nil
}

func (s *fakeSession) Commit(context.Context) error {
	s.of.record("commit")
	if len(s.of.commit) == 0 {
		s.status = Idle
		return nil
	}
	err := s.of.commit[0]
	s.of.commit = s.of.commit[1:]
	s.status = Idle
	if SQLState(err) == "" {
		s.status = Closed
	}
	return err
}

func (s *fakeSession) Rollback(context.Context) error {
	s.of.record("rollback")
	s.status = Idle
	return nil
}

func (s *fakeSession) Status() Status            { return s.status }
func (s *fakeSession) WasNotSent(err error) bool { return errors.Is(err, errNotSent) }
func (s *fakeSession) Close()                    { s.of.closed <- s.shard }

// connectFake connects to a controller whose feed sends the texts of a channel.
func connectFake(t *testing.T, shard *fakeShard) (*Map[*fakeSession], chan<- string) {
	t.Helper()
	const first = `{"name":"m","strategy":"range","key":["bigint"],"version":1,"incarnation":"i",` +
		`"mappings":[{"keys":{"range":[{}]},"shard":"a"}]}`
	feed := make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		if !strings.HasSuffix(request.URL.Path, "/changes") {
			_, _ = io.WriteString(answer, first)
			return
		}
		answer.(http.Flusher).Flush()
		for {
			select {
			case text := <-feed:
				_, _ = fmt.Fprintf(answer, "event: map\ndata: %s\n\n", text)
				answer.(http.Flusher).Flush()
			case <-request.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	shard.closed = make(chan string, 10)
	options := Options{RetryFor: time.Second, FirstPause: time.Millisecond}
	connected, err := Connect[*fakeSession](context.Background(), server.URL, "m", shard, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connected.Close)
	return connected, feed
}

func nothing(*fakeSession) error { return nil }

func TestACommitIsRepeatedOnlyIfItWasRefusedOrNotSent(t *testing.T) {
	for _, one := range []struct {
		commit error
		kind   *Kind
		begins int
	}{
		{serverError("SM001"), nil, 2},
		{serverError("40001"), nil, 2},
		{serverError("08006"), ErrCommitUnknown, 1},
		{io.ErrUnexpectedEOF, ErrCommitUnknown, 1},
		{fmt.Errorf("closed: %w", errNotSent), nil, 2},
	} {
		shard := &fakeShard{commit: []error{one.commit}}
		connected, _ := connectFake(t, shard)
		err := connected.WithShard(context.Background(), 1, nothing)
		isExpected := err == nil && one.kind == nil || one.kind != nil && errors.Is(err, one.kind)
		if begins := strings.Count(shard.recorded(), "begin"); !isExpected || begins != one.begins {
			t.Errorf("%v: %v after %s", one.commit, err, shard.recorded())
		}
		if one.kind != nil && !errors.Is(err, one.commit) {
			t.Errorf("%v is not the cause of %v", one.commit, err)
		}
	}
}

func TestWhatCannotBeCommittedIsAnError(t *testing.T) {
	for status, kind := range map[Status]*Kind{
		Failed: ErrFailedStatementIgnored, Closed: ErrGaveUp, Idle: ErrTransactionEnded, Busy: ErrRowsOpen,
	} {
		shard := &fakeShard{}
		connected, _ := connectFake(t, shard)
		err := connected.WithShard(context.Background(), 1, func(tx *fakeSession) error { tx.status = status; return nil })
		if !errors.Is(err, kind) || strings.Contains(shard.recorded(), "commit") {
			t.Errorf("%v: %v after %s", status, err, shard.recorded())
		}
	}
}

func TestAContextThatEndsCommitsNothing(t *testing.T) {
	shard := &fakeShard{}
	connected, _ := connectFake(t, shard)
	ctx, cancel := context.WithCancel(context.Background())
	err := connected.WithShard(ctx, 1, func(*fakeSession) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) || shard.recorded() != "open a, begin, rollback" {
		t.Errorf("%v after %s", err, shard.recorded())
	}
	ctx, cancel = context.WithCancel(context.Background())
	err = connected.WithShard(ctx, 1, func(*fakeSession) error { cancel(); return serverError("40001") })
	if !errors.Is(err, serverError("40001")) || strings.Count(shard.recorded(), "begin") != 2 {
		t.Errorf("%v after %s", err, shard.recorded())
	}
}

func TestAPanicRollsBack(t *testing.T) {
	shard := &fakeShard{}
	connected, _ := connectFake(t, shard)
	func() {
		defer func() { _ = recover() }()
		_ = connected.WithShard(context.Background(), 1, func(*fakeSession) error { panic("no stock") })
	}()
	if err := connected.WithShard(context.Background(), 1, nothing); err != nil {
		t.Error(err)
	}
	if shard.recorded() != "open a, begin, rollback, begin, commit" {
		t.Error(shard.recorded())
	}
}

func TestConnectionsToAShardWithoutKeysAreReleased(t *testing.T) {
	shard := &fakeShard{}
	connected, feed := connectFake(t, shard)
	if err := connected.WithShard(context.Background(), 1, nothing); err != nil {
		t.Fatal(err)
	}
	feed <- `{"name":"m","strategy":"range","key":["bigint"],"version":2,"incarnation":"i",` +
		`"mappings":[{"keys":{"range":[{}]},"shard":"b"}]}`
	if closed := <-shard.closed; closed != "a" {
		t.Error(closed)
	}
	if owner, err := connected.ShardFor(1); owner != "b" || err != nil {
		t.Errorf("%s, %v", owner, err)
	}
}

func TestAClosedMapExecutesNothing(t *testing.T) {
	shard := &fakeShard{}
	connected, _ := connectFake(t, shard)
	connected.Close()
	if err := connected.WithShard(context.Background(), 1, nothing); !errors.Is(err, ErrClosed) || shard.recorded() != "" {
		t.Errorf("%v after %s", err, shard.recorded())
	}
}

func TestPausesGrowToTheirLimit(t *testing.T) {
	pauses := newPauses(5*time.Millisecond, 20*time.Millisecond)
	for _, middle := range []float64{5, 10, 20, 20} {
		if length := pauses.next().Seconds() * 1000; length < 0.79*middle || length > 1.21*middle {
			t.Errorf("%v is not about %v", length, middle)
		}
	}
}
