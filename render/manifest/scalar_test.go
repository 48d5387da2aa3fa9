package manifest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	yamlv3 "go.yaml.in/yaml/v3"
)

// sample has every kind of leaf that a document can have.
type sample struct {
	S string             `json:"s,omitempty"`
	B *bool              `json:"b,omitempty"`
	I int64              `json:"i,omitempty"`
	U uint8              `json:"u,omitempty"`
	F float64            `json:"f,omitempty"`
	Q *Quantity          `json:"q,omitempty"`
	D metav1.Duration    `json:"d,omitempty"`
	T metav1.Time        `json:"t,omitempty"`
	P intstr.IntOrString `json:"p,omitempty"`
	A any                `json:"a,omitempty"`
}

// read reads one document against the schema of a type.
func read(t *testing.T, text string, into any) []string {
	t.Helper()
	s := builder{}.build(reflect.TypeOf(into), "")
	var node yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(text), &node); err != nil {
		t.Fatal(err)
	}
	w := walker{}
	tree, _ := w.value(node.Content[0], s)
	var faults []string
	for _, f := range w.findings {
		faults = append(faults, f.Error())
	}
	if len(faults) == 0 {
		d := decoder{}
		d.set(reflect.ValueOf(into).Elem(), tree, s)
		for _, p := range d.problems {
			t.Errorf("%s: accepted, and then: %v", text, p)
		}
	}
	return faults
}

// words are scalars that YAML's versions, and its readers, take for different things.
func words() []string {
	return strings.Fields(`true false True FALSE yes no on off Yes NO On OFF y n Y N tRue oN null ~ Null NULL
		0 1 -1 +1 255 256 0123 0o14 0x1F 0b11 -0b11 1_000 9223372036854775807 9223372036854775808 18446744073709551616
		1.5 1e3 1E3 1.0 .5 5. -.5 1e400 .inf -.Inf .nan 1_0.5 0.1 007 08 09.5 1:30 190:20:30 1e1000000000
		2001-01-01 2001-01-01T00:00:00Z 2001-1-1 12s 1h30m 50% 2Gi 500M 1k 1K 1Ki 100m
		= << abc a:b - -- "true" '1' "2Gi" "" "null" 'on' "0123" "12s"
		52:54:00:12:34:56 1.2.3.4 ::1 0.0.0 1e 0x 0xg +a .a ._1 1__0 _1 0_1`)
}

// TestScalarsAsKubernetes compares each word in each kind of field with sigs.k8s.io/yaml, by way of JSON as the clients
// of a cluster go, which is what the authors of such documents are used to.
func TestScalarsAsKubernetes(t *testing.T) {
	// Where we differ, and in which fields: what means something else than it looks like we refuse, what JSON's floats
	// would round we keep, and null is always what was not said.
	differ := map[string]string{
		"0123": "q", "007": "q", "08": "q", "09.5": "q", "0x1F": "q", "0b11": "q", "-0b11": "q", "0o14": "q",
		"1e400": "q", "1e1000000000": "q", "1_000": "q", "1__0": "q", "0_1": "q", "1_0.5": "q",
		"9223372036854775807": "a", "18446744073709551616": "q",
		"null": "d", "~": "d", "Null": "d", "NULL": "d",
	}
	for _, word := range words() {
		for _, field := range strings.Fields("s b i u f q d t p a") {
			text := field + ": " + word
			var node yamlv3.Node
			if yamlv3.Unmarshal([]byte(text), &node) != nil {
				continue
			}
			var got, want sample
			faults := read(t, text, &got)
			asJSON, err := yaml.YAMLToJSON([]byte(text))
			if err == nil {
				err = json.Unmarshal(asJSON, &want)
			}
			switch {
			case strings.Contains(differ[word], field):
				if (err == nil) == (len(faults) == 0) && same(got, want) {
					t.Errorf("%s: we do not differ", text)
				}
			case (err == nil) != (len(faults) == 0):
				t.Errorf("%s: we say %q, Kubernetes says %v", text, faults, err)
			case err == nil && !same(got, want):
				t.Errorf("%s: we read %+v, Kubernetes %+v", text, got, want)
			}
		}
	}
}

// same compares quantities by value: how they are kept inside depends on what was asked of them.
func same(a, b sample) bool {
	if (a.Q == nil) != (b.Q == nil) || a.Q != nil && a.Q.Cmp(*b.Q) != 0 {
		return false
	}
	a.Q, b.Q = nil, nil
	a.A, b.A = fmt.Sprint(a.A), fmt.Sprint(b.A)
	return reflect.DeepEqual(a, b)
}

func TestQuantityFaults(t *testing.T) {
	for text, want := range map[string]string{
		"2Gi": "", "1.5G": "", "1e3": "", "10": "",
		"2GB": `did you mean "2G"`, "2gib": `did you mean "2Gi"`, "10K": `did you mean "10k"`, "3tb": `did you mean "3T"`,
		"5 Gi": `did you mean "5Gi"`, "": "write a number", "Gi": "write a number", "1e999": "write a number",
		"0x10": "write a number", strings.Repeat("9", 100): "write a number",
	} {
		if _, fault := parseQuantity(text); (fault == "") != (want == "") || !strings.Contains(fault, want) {
			t.Errorf("%q: %q, want %q", text, fault, want)
		}
	}
}
