package shardwright

import (
	"context"
	"errors"
	"io"
	"math/rand"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// The SQLSTATEs of the guard.
const (
	// NotOwner means that the shard does not own the key: not any more, or not for the moment.
	NotOwner = "SM001"
	// NotOpen means that the shard does not own the key yet.
	NotOpen = "SM002"
)

// repeatedStates are those of a serialization failure and a deadlock, of a server that stops, has crashed or starts, and
// of one that has no free connection.
var repeatedStates = map[string]bool{
	"40001": true, "40P01": true, "57P01": true, "57P02": true, "57P03": true, "53300": true,
}

// remedy is what to do after an error that occurred before the commit was sent.
type remedy int

const (
	// none returns the error to the application.
	none remedy = iota
	// again tries again after a pause.
	again
	// refreshNotOwner waits for a newer map, then tries again: the guard refused the key.
	refreshNotOwner
	// refreshNotOpen waits for a newer map, then tries again: the shard does not own the key yet.
	refreshNotOpen
)

// stage is how far an attempt got.
type stage int

const (
	connecting stage = iota
	working
	committing
)

// attempt is one attempt of a transaction on a shard.
type attempt struct {
	shard string
	stage stage
	// isLost is whether the connection was lost by the error.
	isLost bool
	// isRefused is whether the server reported the error of the commit, and the session still exists. Then the
	// transaction was certainly rolled back.
	isRefused bool
}

func (a *attempt) remedyOf(err error) remedy {
	switch state := SQLState(err); {
	case isOwn(err):
		return none
	case state == NotOwner:
		return refreshNotOwner
	case state == NotOpen:
		return refreshNotOpen
	case repeatedStates[state] || strings.HasPrefix(state, "08"):
		return again
	case state != "":
		return none
	case a.stage == connecting && isNetwork(err), a.isLost:
		return again
	}
	return none
}

// SQLState returns the SQLSTATE that the server reported; empty if no cause of the error is the server's. It works with
// the errors of each driver that have a method SQLState.
func SQLState(err error) string {
	var reported interface{ SQLState() string }
	if errors.As(err, &reported) {
		return reported.SQLState()
	}
	return ""
}

// isNetwork reports whether an error means that a connection was lost or could not be opened for now. An error of a
// certificate is none: another attempt would fail too.
func isNetwork(err error) bool {
	var network net.Error
	var number syscall.Errno
	for _, known := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, os.ErrDeadlineExceeded} {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.As(err, &network) || errors.As(err, &number)
}

// isEndOfContext reports whether an error comes from a context of the application, which must not be ignored.
func isEndOfContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// pauses are pauses, each twice as long as the one before. Each is changed at random by up to a fifth.
type pauses struct{ following, longest time.Duration }

func newPauses(first, longest time.Duration) *pauses { return &pauses{first, longest} }

func (p *pauses) next() time.Duration {
	length := time.Duration(float64(p.following) * (0.8 + 0.4*rand.Float64()))
	if p.following *= 2; p.following > p.longest {
		p.following = p.longest
	}
	return length
}
