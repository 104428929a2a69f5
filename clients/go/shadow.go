package shardwright

import (
	"fmt"
	"runtime"
	"sort"
	"strings"
	"sync"
)

// Shadow mode is for an application that still has one database.
//
// The map decides which shard each transaction would use; every statement is sent to the one database. What would not
// work on shards is reported, each kind of statement once, without its values: a statement on a table of the map that
// does not fix the table's key, a transaction with keys of several shards, and a key that no shard owns.

// Parser is PostgreSQL's own parser. The functions are those of the package pg_query_go.
type Parser struct {
	ParseToJSON func(sql string) (string, error)
	Normalize   func(sql string) (string, error)
	Fingerprint func(sql string) (string, error)
}

// ShadowOptions are the options of shadow mode.
type ShadowOptions struct {
	Parser Parser
	// Report is called for each finding when it occurs first; by default Options.Log gets it.
	Report func(Finding)
}

// FindingKind is a kind of findings.
type FindingKind string

// The kinds of findings.
const (
	// NoKey means that a statement does not fix the key of a table of the map.
	NoKey FindingKind = "no_key"
	// SeveralShards means that a transaction has keys of several shards.
	SeveralShards FindingKind = "several_shards"
	// UnmappedKey means that no shard owns a key.
	UnmappedKey FindingKind = "unmapped_key"
	// Unreadable means that the parser does not understand a statement.
	Unreadable FindingKind = "unreadable"
)

// Finding is something that would not work on shards.
type Finding struct {
	Kind FindingKind
	// Statement is the statement without its constants.
	Statement string
	// Table is the table of the map; empty if the finding concerns a transaction.
	Table  string
	Shards []string
	// Place is the file and line that executed the statement first.
	Place string
	Count int
}

func (f Finding) String() string {
	explanation := map[FindingKind]string{
		NoKey:         "the statement does not fix the key of table " + f.Table,
		SeveralShards: "the transaction has keys of the shards " + strings.Join(f.Shards, ", "),
		UnmappedKey:   "no shard owns the key in table " + f.Table,
		Unreadable:    "the parser does not understand the statement",
	}[f.Kind]
	return fmt.Sprintf("%s: %s (%s)", explanation, f.Statement, f.Place)
}

// maxStatements is how many analyzed statements are kept.
const maxStatements = 4096

type findingKey struct {
	kind               FindingKind
	fingerprint, table string
}

// Shadow compares the statements of an application with a map.
type Shadow struct {
	cache   *cache
	options ShadowOptions

	mutex        sync.Mutex
	findings     map[findingKey]*Finding
	transactions map[string]int
	// statements are the analyzed ones; nil for one that the parser does not understand.
	statements map[string]*statement
	tables     tables
	version    int64
}

func newShadow(cache *cache, options ShadowOptions) *Shadow {
	if options.Report == nil {
		options.Report = func(finding Finding) { cache.options.Log(finding.String()) }
	}
	return &Shadow{cache: cache, options: options, findings: map[findingKey]*Finding{}, transactions: map[string]int{}}
}

// Findings returns what was found so far, the most frequent first.
func (s *Shadow) Findings() []Finding {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found := make([]Finding, 0, len(s.findings))
	for _, one := range s.findings {
		found = append(found, *one)
	}
	sort.Slice(found, func(one, other int) bool {
		if found[one].Count != found[other].Count {
			return found[one].Count > found[other].Count
		}
		return found[one].Statement < found[other].Statement
	})
	return found
}

// Transactions returns how many transactions of WithShard each shard would have got.
func (s *Shadow) Transactions() map[string]int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	counts := make(map[string]int, len(s.transactions))
	for shard, count := range s.transactions {
		counts[shard] = count
	}
	return counts
}

// ShadowTransaction is what a transaction has touched so far.
type ShadowTransaction struct {
	shadow *Shadow
	// shards are those of the keys, by this version of the map.
	shards map[string]bool
	routes *Routes
	// part is that of a query to all shards, whose condition makes a statement complete.
	part *Part
}

// Transaction is a transaction of code that does not use WithShard yet.
func (s *Shadow) Transaction() *ShadowTransaction {
	return &ShadowTransaction{shadow: s, shards: map[string]bool{}}
}

// onShard is a transaction of WithShard, by a version of the map.
func (s *Shadow) onShard(routes *Routes, shard string) *ShadowTransaction {
	s.mutex.Lock()
	s.transactions[shard]++
	s.mutex.Unlock()
	return &ShadowTransaction{shadow: s, shards: map[string]bool{shard: true}, routes: routes}
}

func (s *Shadow) inQuery(part *Part) *ShadowTransaction {
	return &ShadowTransaction{shadow: s, shards: map[string]bool{}, part: part}
}

// Record compares a statement of the transaction with the map. Its parameters are $1, $2, and so on. A transaction is
// of one goroutine.
func (t *ShadowTransaction) Record(sql string, parameters []any) {
	routes := t.shadow.cache.routes.Load()
	analyzed := t.shadow.analyzed(routes, sql)
	if analyzed == nil {
		first, _, _ := strings.Cut(strings.TrimSpace(sql), " ")
		t.shadow.add(findingKey{Unreadable, first, ""}, first, nil)
		return
	}
	if t.part != nil && t.part.isConditionIn(sql) {
		return
	}
	for _, use := range analyzed.uses {
		t.checkUse(routes, analyzed, use, parameters)
	}
}

func (t *ShadowTransaction) checkUse(routes *Routes, analyzed *statement, use tableUse, parameters []any) {
	if use.keys == nil {
		t.shadow.add(findingKey{NoKey, analyzed.fingerprint, use.table}, analyzed.normalized, nil)
		return
	}
	if t.routes != routes {
		// By another version, the same key can be on another shard.
		t.routes, t.shards = routes, map[string]bool{}
	}
	for _, key := range keysIn(use.keys, parameters) {
		shard, err := routes.ShardFor(key)
		if err != nil {
			t.shadow.add(findingKey{UnmappedKey, analyzed.fingerprint, use.table}, analyzed.normalized, nil)
			continue
		}
		t.shards[shard] = true
	}
	if len(t.shards) > 1 {
		shards := make([]string, 0, len(t.shards))
		for shard := range t.shards {
			shards = append(shards, shard)
		}
		sort.Strings(shards)
		t.shadow.add(findingKey{SeveralShards, analyzed.fingerprint, ""}, analyzed.normalized, shards)
	}
}

// analyzed returns what the parser finds in a statement; nil if it does not understand it.
func (s *Shadow) analyzed(routes *Routes, sql string) *statement {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.statements == nil || s.version != routes.version {
		s.tables, s.version = tablesOf(routes.settings), routes.version
		s.statements = map[string]*statement{}
	}
	known, isKnown := s.statements[sql]
	if !isKnown {
		if len(s.statements) >= maxStatements {
			s.statements = map[string]*statement{}
		}
		known = analyze(s.options.Parser, sql, s.tables)
		s.statements[sql] = known
	}
	return known
}

func (s *Shadow) add(key findingKey, normalized string, shards []string) {
	s.mutex.Lock()
	known := s.findings[key]
	if known != nil {
		known.Count++
		s.mutex.Unlock()
		return
	}
	found := Finding{key.kind, normalized, key.table, shards, placeOfCall(), 1}
	s.findings[key] = &found
	reported := found
	s.mutex.Unlock()
	s.options.Report(reported)
}

// placeOfCall is the file and line of the application: the first one outside of this module and of pgx.
func placeOfCall() string {
	var counters [64]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	for {
		frame, hasMore := frames.Next()
		isOther := strings.HasPrefix(frame.Function, "shardwright.") ||
			strings.HasPrefix(frame.Function, "shardwright/pgx4.") ||
			strings.HasPrefix(frame.Function, "github.com/jackc/")
		if !isOther || !hasMore {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line)
		}
	}
}
