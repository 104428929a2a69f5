// Package pgquery calls PostgreSQL's parser in the C library libpg_query, for the tests. Applications use the package
// pg_query_go, which has the same functions.
package pgquery

// #cgo LDFLAGS: -lpg_query
// #include <stdlib.h>
// #include <pg_query.h>
import "C"

import (
	"errors"
	"unsafe"
)

// ParseToJSON returns the tree of a statement.
func ParseToJSON(sql string) (string, error) {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	result := C.pg_query_parse(text)
	defer C.pg_query_free_parse_result(result)
	return C.GoString(result.parse_tree), errorOf(result.error)
}

// Normalize replaces the constants of a statement.
func Normalize(sql string) (string, error) {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	result := C.pg_query_normalize(text)
	defer C.pg_query_free_normalize_result(result)
	return C.GoString(result.normalized_query), errorOf(result.error)
}

// Fingerprint is the same for statements that differ in their constants only.
func Fingerprint(sql string) (string, error) {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	result := C.pg_query_fingerprint(text)
	defer C.pg_query_free_fingerprint_result(result)
	return C.GoString(result.fingerprint_str), errorOf(result.error)
}

func errorOf(reported *C.PgQueryError) error {
	if reported == nil {
		return nil
	}
	return errors.New(C.GoString(reported.message))
}
