package shardwright

import (
	"encoding/json"

	"shardwright/internal/key"
)

// The JSON of a shard map (docs/types.md). Unknown fields are ignored, as the API requires.

type jsonMapping struct {
	Keys  key.JSONSet `json:"keys"`
	Shard string      `json:"shard"`
}

// jsonMap is one version of a map.
type jsonMap struct {
	Name        string        `json:"name"`
	Strategy    string        `json:"strategy"`
	Key         []key.Type    `json:"key"`
	Version     *int64        `json:"version"`
	Incarnation string        `json:"incarnation"`
	Buckets     int64         `json:"buckets"`
	Mappings    []jsonMapping `json:"mappings"`
	Settings    Settings      `json:"settings"`
}

// Settings are those of a map that concern applications.
type Settings struct {
	// KeyedBy is column, schema or group: what has a key.
	KeyedBy string `json:"keyed_by"`
	// Tables are the tables of the map with their key columns.
	Tables map[string]Columns `json:"tables"`
	// Groups are the tables of each group; the name of the group is their key.
	Groups map[string][]string `json:"groups"`
	// Reference are tables that have the same rows on every shard.
	Reference []string `json:"reference"`
}

// Columns are the key columns of a table. In the JSON, a single one is a string.
type Columns []string

// UnmarshalJSON reads one column or a list.
func (c *Columns) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*c = Columns{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(c))
}

func readMap(document []byte) (*jsonMap, error) {
	var parsed jsonMap
	if err := json.Unmarshal(document, &parsed); err != nil {
		return nil, NewError(ErrMap, "the JSON is not a shard map: "+err.Error(), err)
	}
	hasNames := parsed.Name != "" && parsed.Strategy != "" && parsed.Incarnation != ""
	if !hasNames || parsed.Version == nil || parsed.Key == nil || parsed.Mappings == nil {
		return nil, errorf(ErrMap, "the JSON is not a shard map: a field is missing")
	}
	return &parsed, nil
}
