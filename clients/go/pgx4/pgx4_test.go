package pgx4

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v4"

	"shardwright"
)

func TestOnlyTheLibraryEndsATransaction(t *testing.T) {
	for _, err := range []error{transaction{}.Commit(context.Background()), transaction{}.Rollback(context.Background())} {
		if !errors.Is(err, shardwright.ErrTransactionEnded) {
			t.Error(err)
		}
	}
}

func TestAnUnknownShardHasNoAccess(t *testing.T) {
	_, err := driver{DSNs(map[string]string{"a": ""})}.Open(context.Background(), "b", time.Second)
	if !errors.Is(err, shardwright.ErrNoAccess) {
		t.Error(err)
	}
}

func TestOptionsOfPgxAreNoParameters(t *testing.T) {
	found := parametersOf([]any{pgx.QuerySimpleProtocol(true), pgx.QueryResultFormats{1}, 7, "x"})
	if fmt.Sprint(found) != "[7 x]" || parametersOf([]any{pgx.QuerySimpleProtocol(true)}) != nil {
		t.Error(found)
	}
}
