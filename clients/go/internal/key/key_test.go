package key

import (
	"math"
	"testing"
	"time"
)

type tenant int32

type name string

func TestValuesOfGoAreKeys(t *testing.T) {
	id := [16]byte{0x01, 0x8f, 0x3f, 0x5e, 0x9c, 0x3a, 0x7c, 0x3e, 0x8b, 0x1a, 0x2f, 0x4d, 0x5e, 0x6a, 0x7b, 0x8c}
	type uuid [16]byte
	east := time.FixedZone("east", 2*3600)
	for _, same := range []struct {
		kind  Type
		value any
		text  string
	}{
		{Bigint, 7, "7"},
		{Bigint, tenant(7), "7"},
		{Bigint, uint64(math.MaxInt64), "9223372036854775807"},
		{Smallint, int8(-7), "-7"},
		{Integer, int32(math.MinInt32), "-2147483648"},
		{Text, name("acme"), "acme"},
		{UUID, id, "018f3f5e-9c3a-7c3e-8b1a-2f4d5e6a7b8c"},
		{UUID, uuid(id), "018F3F5E9C3A7C3E8B1A2F4D5E6A7B8C"},
		{Bytea, []byte{0, 255}, `\x00ff`},
		{Timestamptz, time.Date(2024, 2, 29, 12, 0, 0, 500_000_000, time.UTC), "2024-02-29 12:00:00.5+00"},
		{Timestamptz, time.Date(2000, 1, 1, 2, 0, 0, 0, east), "2000-01-01 00:00Z"},
		{Timestamptz, time.Date(1999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), "1999-12-31 23:59:59.999999+00"},
	} {
		one, err := Accept([]Type{same.kind}, same.value)
		other, otherErr := Accept([]Type{same.kind}, same.text)
		if err != nil || otherErr != nil || one != other {
			t.Errorf("%s %v: %v, %v; %v, %v", same.kind, same.value, one, err, other, otherErr)
		}
	}
}

func TestOtherValuesOfGoAreRefused(t *testing.T) {
	for _, wrong := range []struct {
		kind  Type
		value any
	}{
		{Bigint, true}, {Bigint, 1.0}, {Bigint, uint64(math.MaxUint64)}, {Bigint, nil}, {Bigint, []any{1, 2}},
		{Smallint, 32768}, {Text, []byte("a")}, {Text, "\xff"}, {Text, 'a'}, {UUID, [4]byte{}}, {UUID, []byte("0")},
		{Date, time.Now()}, {Timestamptz, time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC)}, {Bytea, "a"},
	} {
		if accepted, err := Accept([]Type{wrong.kind}, wrong.value); err == nil {
			t.Errorf("%s %v was accepted as %v", wrong.kind, wrong.value, accepted)
		}
	}
}

func TestTextsAreReadAsTheyAreWritten(t *testing.T) {
	types := []Type{Text, Bytea, UUID}
	values := []any{"ä\x01🐘", `\x00ff0000`, "018f3f5e-9c3a-7c3e-8b1a-2f4d5e6a7b8c"}
	composite, err := Accept(types, values)
	if err != nil {
		t.Fatal(err)
	}
	for at, text := range composite.Texts(types) {
		if text != values[at] {
			t.Errorf("%q is not %q", text, values[at])
		}
	}
	for _, one := range []struct {
		kind Type
		text string
	}{
		{Date, "4714-11-24 BC"}, {Date, "5874897-12-31"}, {Date, "-infinity"},
		{Timestamptz, "294276-12-31 23:59:59.999999+00"}, {Timestamptz, "4714-11-24 00:00:00+00 BC"},
		{Timestamptz, "1999-12-31 23:59:59.5+00"}, {Timestamptz, "-infinity"},
	} {
		accepted, err := Accept([]Type{one.kind}, one.text)
		if err != nil || accepted.Texts([]Type{one.kind})[0] != one.text {
			t.Errorf("%s: %v, %v", one.text, accepted, err)
		}
	}
}

func TestAdjacentIntervalsAreJoined(t *testing.T) {
	interval := func(from, to int64) Interval { return Interval{From: Numeric(from), To: Numeric(to)} }
	open := Interval{To: Numeric(3), NoFrom: true}
	end := Interval{From: Numeric(7), NoTo: true}
	joined := Joined([]Interval{interval(5, 9), open, interval(3, 4), end, interval(2, 2)})
	wanted := []Interval{{To: Numeric(4), NoFrom: true}, {From: Numeric(5), NoTo: true}}
	if len(joined) != 2 || joined[0] != wanted[0] || joined[1] != wanted[1] {
		t.Errorf("%v is not %v", joined, wanted)
	}
}

func TestALookupOfABigintNeedsNoMemory(t *testing.T) {
	types, value := []Type{Bigint}, any(int64(1)<<40)
	if count := testing.AllocsPerRun(100, func() { _, _ = Accept(types, value) }); count > 0 {
		t.Errorf("%v allocations", count)
	}
}
