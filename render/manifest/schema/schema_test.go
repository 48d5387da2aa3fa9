package schema_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/manifest/schema"
)

func TestSoundDocumentsAreValid(t *testing.T) {
	all := compiled(t)
	counts := map[string]int{}
	for _, d := range golden(t) {
		if d.Broken {
			continue
		}
		counts[d.own]++
		if err := all[d.own].Validate(d.value); err != nil {
			t.Errorf("%s:%d: %v", d.File, d.Line, err)
		}
		if err := all[""].Validate(d.value); err != nil {
			t.Errorf("%s:%d: as a document of any kind: %v", d.File, d.Line, err)
		}
	}
	for _, kind := range manifest.Kinds() {
		if counts[kind] == 0 {
			t.Errorf("no %s was tried", kind)
		}
	}
}

// structural are the messages of problems that a schema can tell.
var structural = regexp.MustCompile(`^unknown field|^expected (?:a|true)|is not a value of this field|^must be (?:at least|a whole)|` +
	`^is not supported|is not supported yet; known here|which says nothing|only a Kubernetes cluster has|written by agents|` +
	`is not a name:|is not a quantity|is not a UUID|is not a MAC address|is not an absolute path|is not a pool's name|` +
	`is not a label's|^is not known|is made by agents`)

// TestBrokenDocumentsAreNotValid wants each problem of the goldens that a schema can tell to be told at its place.
func TestBrokenDocumentsAreNotValid(t *testing.T) {
	all := compiled(t)
	found := 0
	for _, d := range golden(t) {
		if api, _ := d.value.(map[string]any)["apiVersion"].(string); d.own == "" && !strings.HasPrefix(api, "gitvirt") {
			if err := all[""].Validate(d.value); err != nil {
				t.Errorf("%s:%d: it is none of gitvirt's own, and refused: %v", d.File, d.Line, err)
			}
			continue
		}
		places := refusals(all[d.own].Validate(d.value))
		if err := all[""].Validate(d.value); (err == nil) != (len(places) == 0) {
			t.Errorf("%s:%d: the schema of %q and that of all disagree: %v", d.File, d.Line, d.own, err)
		}
		for _, p := range d.problems {
			if p.Field == "" || !structural.MatchString(p.Message) || said(d.problems, p.Field, "duplicate key") {
				continue
			}
			found++
			path := steps(p.Field)
			if !slices.Contains(places, strings.Join(path, "/")) && !slices.Contains(places, "/"+path[len(path)-1]) {
				t.Errorf("%s: the schema refuses %q only", p, places)
			}
		}
	}
	if found < 80 {
		t.Errorf("only %d problems were looked at", found)
	}
}

func said(problems []manifest.Problem, field, message string) bool {
	return slices.ContainsFunc(problems, func(p manifest.Problem) bool {
		return p.Field == field && strings.HasPrefix(p.Message, message)
	})
}

var step = regexp.MustCompile(`\[([^\]]*)\]|([^.\[]+)`)

// steps splits the path of a field.
func steps(field string) (steps []string) {
	for _, m := range step.FindAllStringSubmatch(field, -1) {
		steps = append(steps, m[1]+m[2])
	}
	return steps
}

// refusals are the places that a validation complains of.
func refusals(err error) (places []string) {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	var visit func(e *jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		at := strings.Join(e.InstanceLocation, "/")
		switch kind := e.ErrorKind.(type) {
		case *kind.AdditionalProperties:
			for _, name := range kind.Properties {
				places = append(places, strings.TrimPrefix(at+"/"+name, "/"))
			}
		case *kind.PropertyNames:
			// The library loses where the map of a bad key is.
			places = append(places, "/"+kind.Property)
		default:
			if len(e.Causes) == 0 {
				places = append(places, at)
			}
		}
		for _, cause := range e.Causes {
			visit(cause)
		}
	}
	visit(invalid)
	return places
}

func TestNoSuchKind(t *testing.T) {
	if _, err := schema.JSON("Pod", schema.Docs{}); err == nil {
		t.Error("there is a schema of a kind that is not read")
	}
	if _, err := schema.Reference("Pod", schema.Docs{}, schema.Page{}); err == nil {
		t.Error("there is a page of a kind that is not read")
	}
}
