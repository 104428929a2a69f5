// Renders a chart as `helm template` does, where there is no helm: Go's templates, sprig, and helm's own functions that
// the chart uses. It knows no subcharts, hooks, lookups or capabilities.
//
// go run render.go CHART RELEASE VALUES: prints the documents, each with its template's name.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

type tree = map[string]interface{}

// Files of the chart, as templates ask for them.
type files struct{ chart string }

func (f files) Get(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(f.chart, name))
	return string(text), err
}

func read(path string) tree {
	text, err := os.ReadFile(path)
	check(err)
	values := tree{}
	check(yaml.Unmarshal(text, &values))
	return values
}

// Over what the chart says: maps are merged, everything else is replaced.
func merge(under, over tree) tree {
	for key, value := range over {
		below, isBelow := under[key].(tree)
		above, isAbove := value.(tree)
		if isBelow && isAbove {
			value = merge(below, above)
		}
		under[key] = value
	}
	return under
}

func toYaml(value interface{}) (string, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err := encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n"), err
}

func required(what string, value interface{}) (interface{}, error) {
	if value == nil || value == "" {
		return nil, errors.New(what)
	}
	return value, nil
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: render CHART RELEASE VALUES")
	}
	chart, release := os.Args[1], os.Args[2]
	all := template.New("chart").Option("missingkey=error")
	include := func(name string, data interface{}) (string, error) {
		var text strings.Builder
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	own := template.FuncMap{"include": include, "required": required, "toYaml": toYaml}
	all.Funcs(sprig.TxtFuncMap()).Funcs(own)
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	check(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		check(err)
		template.Must(all.New(filepath.Base(path)).Parse(string(text)))
	}
	about := tree{}
	for key, value := range read(filepath.Join(chart, "Chart.yaml")) {
		about[strings.ToUpper(key[:1])+key[1:]] = value
	}
	root := tree{
		"Chart":   about,
		"Files":   files{chart},
		"Release": tree{"Name": release, "Namespace": "default", "Service": "Helm"},
		"Values":  merge(read(filepath.Join(chart, "values.yaml")), read(os.Args[3])),
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		text, err := include(name, root)
		check(err)
		fmt.Printf("---\n# Source: %s\n%s\n", name, text)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
