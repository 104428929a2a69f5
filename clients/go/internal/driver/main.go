// The library as the conformance suite drives it: requests and answers are lines of JSON.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"

	"shardwright"
)

var kinds = map[*shardwright.Kind]string{
	shardwright.ErrUnmapped:               "unmapped",
	shardwright.ErrNotAKey:                "not_a_key",
	shardwright.ErrStale:                  "stale",
	shardwright.ErrMap:                    "map",
	shardwright.ErrFetch:                  "fetch",
	shardwright.ErrNoAccess:               "no_access",
	shardwright.ErrConnect:                "connect",
	shardwright.ErrFailedStatementIgnored: "failed_statement_ignored",
	shardwright.ErrTransactionEnded:       "transaction_ended",
	shardwright.ErrCommitUnknown:          "commit_unknown",
	shardwright.ErrGaveUp:                 "gave_up",
	shardwright.ErrNoAnswer:               "no_answer",
}

// applicationError is an error of the application's own function.
type applicationError struct{ message string }

func (e *applicationError) Error() string { return e.message }

// kindOf is the language-neutral name of an error.
func kindOf(err error) string {
	var own *shardwright.Error
	var application *applicationError
	switch {
	case errors.As(err, &own) && kinds[own.Kind] != "":
		return kinds[own.Kind]
	case errors.As(err, &application):
		return "application"
	case shardwright.SQLState(err) != "":
		return "database"
	default:
		return "unexpected"
	}
}

type failure struct {
	Kind     string `json:"kind"`
	Message  string `json:"message"`
	SQLState string `json:"sqlstate,omitempty"`
}

type answer struct {
	ID    json.Number `json:"id"`
	OK    any         `json:"ok"`
	Error *failure    `json:"error,omitempty"`
}

func main() {
	input, output := bufio.NewReaderSize(os.Stdin, 1<<20), sync.Mutex{}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	served := &driver{}
	for {
		line, err := input.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		go func() {
			made := served.answer(line)
			output.Lock()
			defer output.Unlock()
			if err := encoder.Encode(made); err != nil {
				os.Exit(1)
			}
		}()
	}
}

func (d *driver) answer(line []byte) answer {
	var request request
	decoder := json.NewDecoder(bytes.NewReader(line))
	// A key must not lose digits.
	decoder.UseNumber()
	err := decoder.Decode(&request)
	var result any
	if err == nil {
		result, err = d.operate(&request)
	}
	if err == nil {
		return answer{ID: request.ID, OK: result}
	}
	return answer{request.ID, nil, &failure{kindOf(err), err.Error(), shardwright.SQLState(err)}}
}
