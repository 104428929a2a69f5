package shardwright

import (
	"errors"
	"fmt"

	"shardwright/internal/key"
)

// Kind is a kind of errors of the library: errors.Is(err, shardwright.ErrCommitUnknown).
type Kind struct{ meaning, hint string }

// Error is what the kind means.
func (k *Kind) Error() string { return k.meaning }

// Hint is what the user can do; empty if that depends on the cause.
func (k *Kind) Hint() string { return k.hint }

// The kinds of errors. An error of the application's own function, or of a statement in it, has none of these kinds:
// the library returns it unchanged after the rollback.
var (
	// ErrUnmapped means that no mapping of the map contains the key. No statement was executed.
	ErrUnmapped = &Kind{"no shard owns the key", "map the key to a shard, or correct the key"}
	// ErrNotAKey means that the value has another type, or another number of columns. No statement was executed.
	ErrNotAKey = &Kind{"the value is not a key of the map", "pass the key in the types of the map's key columns"}
	// ErrStale means that no controller has answered for longer than Options.MaxStaleness. No statement was executed.
	ErrStale = &Kind{"the map may be out of date",
		"make sure that the application can reach a controller, or increase Options.MaxStaleness"}
	// ErrMap means that the map is invalid: mappings overlap, or do not have the form of the map's strategy.
	ErrMap = &Kind{"the map is invalid", ""}
	// ErrFetch means that no controller returned the map. The cause is the error of the last controller.
	ErrFetch = &Kind{"the map could not be read",
		"check the URLs of the controllers, the name of the map, and the token"}
	// ErrNoAccess means that the application has no connection string for the shard. No statement was executed.
	ErrNoAccess = &Kind{"no connection string", "let the access return a connection string for this shard"}
	// ErrConnect means that a connection cannot be opened, and a retry does not help. No statement was executed.
	ErrConnect = &Kind{"cannot connect", ""}
	// ErrFailedStatementIgnored means that the function returned although one of its statements had failed. The
	// transaction was rolled back.
	ErrFailedStatementIgnored = &Kind{"a failed statement was ignored",
		"return the error of the statement from the function, or run the statement in a savepoint"}
	// ErrTransactionEnded means that the function ended the transaction itself, which only the library may do.
	ErrTransactionEnded = &Kind{"the function ended its transaction",
		"remove commit and rollback from the function; return an error to roll back"}
	// ErrRowsOpen means that the function returned before it closed the rows of a query. The transaction was rolled
	// back.
	ErrRowsOpen = &Kind{"a query is still open", "close the rows of each query in the function"}
	// ErrCommitUnknown means that the connection was lost during the commit. The transaction may or may not be
	// committed.
	ErrCommitUnknown = &Kind{"the outcome of the commit is unknown",
		"before you repeat the transaction, find out on the key's shard whether it was committed, " +
			"for example by a row that it writes"}
	// ErrGaveUp means that the time for retries has ended. The last attempt was rolled back. The cause is its error.
	ErrGaveUp = &Kind{"gave up", ""}
	// ErrNoAnswer means that a shard did not answer a query to all shards within the time for retries. The cause is
	// the last error.
	ErrNoAnswer = &Kind{"the shard did not answer", ""}
	// ErrClosed means that the map was closed. No statement was executed.
	ErrClosed = &Kind{"the map is closed", ""}
)

// Error is an error of the library. errors.Is finds its kind, errors.As its cause.
type Error struct {
	// Kind says what the error means for the transaction.
	Kind    *Kind
	message string
	cause   error
}

func (e *Error) Error() string { return e.message }

// Unwrap returns the error that led to this one.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether the error is of a kind.
func (e *Error) Is(target error) bool { return target == e.Kind }

// Hint is what the user can do; empty if that depends on the cause.
func (e *Error) Hint() string { return e.Kind.hint }

// NewError is an error of a kind, for packages that connect a driver.
func NewError(kind *Kind, message string, cause error) *Error {
	return &Error{kind, message, cause}
}

func errorf(kind *Kind, format string, arguments ...any) *Error {
	return &Error{kind, fmt.Sprintf(format, arguments...), nil}
}

// isOwn reports whether the library itself made the error.
func isOwn(err error) bool {
	var own *Error
	return errors.As(err, &own)
}

// isRoute reports whether a key has no shard for now.
func isRoute(err error) bool {
	return errors.Is(err, ErrUnmapped) || errors.Is(err, ErrNotAKey) || errors.Is(err, ErrStale)
}

// accept converts a value to a key.
func accept(types []key.Type, value any) (key.Key, error) {
	accepted, err := key.Accept(types, value)
	if err != nil {
		return key.Key{}, NewError(ErrNotAKey, err.Error(), nil)
	}
	return accepted, nil
}
