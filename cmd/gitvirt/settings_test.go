package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// onlyInTheFile are keys without a flag.
var onlyInTheFile = []string{"removalBudget", "auth", "verify", "ref", "forcedPush", "secrets", "images", "webhook", "notices", "policy"}

// TestKeysAndFlagsAgree wants a flag for each key, under the same name, that sets the same field.
func TestKeysAndFlagsAgree(t *testing.T) {
	var s settings
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.bind(flags)
	seen := map[string]bool{}
	for n := range reflect.TypeFor[settings]().NumField() {
		key := reflect.TypeFor[settings]().Field(n).Tag.Get("yaml")
		name := dashed(key)
		flag := flags.Lookup(name)
		seen[name] = true
		if slices.Contains(onlyInTheFile, key) {
			if flag != nil {
				t.Errorf("%s is only for the file, and has a flag", key)
			}
			continue
		}
		if flag == nil {
			t.Errorf("the key %s has no flag --%s", key, name)
			continue
		}
		value := "word"
		if flag.Value.Type() == "duration" {
			value = "7m0s"
		}
		if err := flags.Set(name, value); err != nil {
			t.Error(err)
		}
		var file settings
		if err := yaml.Unmarshal([]byte(key+": "+value), &file); err != nil {
			t.Error(err)
		}
		field := reflect.ValueOf(s).Field(n).Interface()
		if field != reflect.ValueOf(file).Field(n).Interface() || reflect.ValueOf(file).Field(n).IsZero() {
			t.Errorf("--%s %s sets %v, and the file %v", name, value, field, reflect.ValueOf(file).Field(n))
		}
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if !seen[f.Name] {
			t.Errorf("the flag --%s has no key", f.Name)
		}
	})
}

// dashed is a key in the command line's spelling: stateDir, state-dir.
func dashed(key string) string {
	var b strings.Builder
	for _, r := range key {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func TestFlagsWinOverTheFileAndTheFileOverDefaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.yaml")
	text := "repo: /srv/vms\nbranch: stable\nlisten: ''\ninterval: 5m\nremovalBudget: 7\nauth: {tokenFile: /token}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	given := defaults()
	given.bind(flags)
	if err := flags.Parse([]string{"--branch", "next", "--host", "kvm7"}); err != nil {
		t.Fatal(err)
	}
	got, err := load(file, flags)
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Repo, want.Branch, want.Listen, want.Interval, want.RemovalBudget = "/srv/vms", "next", "", 5*time.Minute, 7
	want.Host, want.Auth.TokenFile = "kvm7", "/token"
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTheReadmeListsEveryKeyWithItsFlag(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for n := range reflect.TypeFor[settings]().NumField() {
		key := reflect.TypeFor[settings]().Field(n).Tag.Get("yaml")
		row := "| `" + key + "` | `--" + dashed(key) + "` |"
		if slices.Contains(onlyInTheFile, key) {
			row = "| `" + key + "` | |"
		}
		if !strings.Contains(string(text), row) {
			t.Errorf("the README has no row %s", row)
		}
	}
}

func TestAPushIsOfWhatIsFollowed(t *testing.T) {
	branch, tags := defaults(), defaults()
	tags.Ref.TagPattern = "v*"
	for pushed, want := range map[string][2]bool{
		"refs/heads/main": {true, false}, "refs/heads/v1": {false, false}, "refs/tags/v1.2": {false, true}, "refs/tags/other": {false, false}, "refs/tags/main": {false, false},
	} {
		if got := [2]bool{branch.follows(pushed), tags.follows(pushed)}; got != want {
			t.Errorf("%s: %v, want %v", pushed, got, want)
		}
	}
}
