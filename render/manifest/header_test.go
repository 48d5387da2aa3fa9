package manifest

import (
	"strings"
	"testing"
)

// TestNoVersion wants documents refused whose apiVersion is there and says nothing.
func TestNoVersion(t *testing.T) {
	for _, version := range []string{"", "null", "~", `""`, "&a ''"} {
		f := Read("a.yaml", []byte("apiVersion: "+version+"\nkind: RunState\nmetadata: {name: a}\nspec: {host: kvm1}\n"))
		if len(f.Problems) != 1 || f.Problems[0].Field != "apiVersion" || !strings.HasPrefix(f.Problems[0].Message, "is missing") {
			t.Errorf("apiVersion: %s: %v", version, f.Problems)
		}
	}
}
