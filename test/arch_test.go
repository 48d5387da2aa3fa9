package test

import (
	"fmt"
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/gitvirt/gitvirt"

// layer says which of our packages a package may import, beside those below itself. "x/..." means x and all below it.
type layer struct {
	of  string
	may []string
}

// layers are all of them. The first that fits a package is its own. Test files may import what they like.
var layers = []layer{
	{"render/manifest/...", nil},
	{"render/secret", nil},
	{"render/domxml/...", []string{"render/secret"}},
	{"render/resource", []string{"render/domxml", "render/manifest"}},
	{"render/metadata", []string{"render/domxml"}},
	{"render/preference", []string{"render/manifest"}},
	{"render/imported", []string{"render", "render/domxml", "render/manifest", "render/metadata", "render/resource"}},
	{"render/...", nil},
	{"source/verify", nil},
	{"source/...", nil},
	{"runner/sandbox/...", nil},
	{"runner/...", []string{"reconcile/plan", "render/..."}},
	{"reconcile/plan/adoption", []string{"reconcile/plan", "render/..."}},
	{"reconcile/plan/...", []string{"render/..."}},
	{"reconcile/policy/...", []string{"render/..."}},
	{"reconcile/address/...", []string{"reconcile/plan", "render/..."}},
	{"reconcile/inventory/...", []string{"reconcile/plan", "render/..."}},
	{"reconcile/probe/...", []string{"reconcile/plan", "render/..."}},
	{"reconcile/stats/...", []string{"reconcile/plan", "render/..."}},
	{"reconcile/status/...", []string{"reconcile/plan", "render/..."}},
	{"reconcile/webhook/...", nil},
	{"reconcile/control/...", nil},
	{"reconcile/notice/...", []string{"reconcile/plan", "reconcile/status", "render/..."}},
	{"reconcile/...", []string{"render/...", "source"}},
	{"examples/...", nil},
	{"cmd/...", []string{"examples", "reconcile/...", "render/...", "runner/...", "source/..."}},
	{"test/...", []string{"cmd/...", "reconcile/...", "render/...", "runner/...", "source/..."}},
}

// restricted are packages that only some of ours may import.
var restricted = []struct {
	what string
	only []string
}{
	{module + "/runner/sandbox/...", []string{"cmd/...", "runner/sandbox/...", "test/..."}},
	{"github.com/digitalocean/go-libvirt/...", []string{"runner/...", "test/..."}},
	{"github.com/go-git/...", []string{"source/...", "cmd/...", "test/..."}},
	{"testing/...", []string{"test/..."}},
}

// pure are the packages that decide: the same input gives the same output, whatever the machine and the time.
var pure = []string{"render/...", "reconcile/plan/...", "reconcile/policy/...", "reconcile/webhook", "source/verify"}

// impure are the imports that a pure package may not have itself. What a library does inside is not looked at.
var impure = []string{
	"os/...", "io/ioutil", "syscall", "golang.org/x/sys/...", // files, processes, the environment
	"net", "net/http/...", "net/rpc/...", "net/smtp", // the network; net/url and net/netip only parse
	"log/...", "expvar", "github.com/prometheus/...", // telling is the caller's part
	"math/rand/...", "crypto/rand", // chance
	"github.com/digitalocean/go-libvirt/...", "github.com/go-git/...", "github.com/fsnotify/...",
}

// forbiddenUses are the functions that a pure package may not use of packages that it may import: those which ask the
// clock, the files or chance.
var forbiddenUses = map[string][]string{
	"time":                   {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation"},
	"path/filepath":          {"Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir"},
	"github.com/google/uuid": {"New", "NewString", "NewRandom", "NewUUID", "NewV7", "NewV6"},
}

// program is our packages, by their path inside the module.
type program map[string]*packages.Package

// load reads and type-checks our packages without their tests. The overlay has contents of files by absolute path, in
// place of what is there, or beside it.
func load(overlay map[string][]byte) (program, error) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
		Dir:     "..",
		Overlay: overlay,
	}, "./...")
	if err != nil {
		return nil, err
	}
	all := program{}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("cannot load %s: %w", p.PkgPath, p.Errors[0])
		}
		all[inside(p.PkgPath)] = p
	}
	if len(all) < 10 {
		return nil, fmt.Errorf("loaded %d packages only", len(all))
	}
	return all, nil
}

// rules are what holds for the program. Each returns what breaks it.
var rules = []struct {
	name  string
	check func(program) []string
}{
	{"direction of imports", directionOfImports},
	{"restricted imports", restrictedImports},
	{"purity", purity},
	{"no init functions", noInit},
	{"no package-level variables that change", noGlobals},
	{"package comments", packageComments},
}

func TestArchitecture(t *testing.T) {
	all, err := load(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, problem := range slices.Sorted(slices.Values(rule.check(all))) {
				t.Error(problem)
			}
		})
	}
}

// TestRulesBite adds a file that breaks every rule, and wants to hear so.
func TestRulesBite(t *testing.T) {
	file, err := filepath.Abs("../render/metadata/zz_bad.go")
	if err != nil {
		t.Fatal(err)
	}
	all, err := load(map[string][]byte{file: []byte(`// Something else.
package metadata

import (
	"os"
	"sync"
	clock "time"

	_ "github.com/digitalocean/go-libvirt"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/runner/sandbox"
)

var (
	counter int
	table   = map[string]int{"a": 1}
	lock    sync.Mutex
	now     = clock.Now
	fine    = map[string]int{"a": 1}
)

func init() {
	counter++
	table["a"] = fine["a"]
	lock.Lock()
	_, _, _ = os.Args, sandbox.Options{}, manifest.Problem{}
}
`)})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"direction of imports": {"imports render/manifest", "imports runner/sandbox"},
		"restricted imports":   {"imports github.com/digitalocean/go-libvirt", "imports " + module + "/runner/sandbox"},
		"purity":               {"imports os", "imports runner/sandbox, which is not", "uses time.Now"},
		"no init functions":    {"has an init function"},
		"no package-level variables that change": {
			"counter is counted", "table is assigned to", "lock has a method called", "now is a func",
		},
		"package comments": {"has 2 package comments"},
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			problems := strings.Join(rule.check(all), "\n")
			for _, text := range want[rule.name] {
				if !strings.Contains(problems, text) {
					t.Errorf("it does not say %q, but:\n%s", text, problems)
				}
			}
			if strings.Contains(problems, "variable fine") {
				t.Errorf("it complains of a constant table:\n%s", problems)
			}
		})
	}
}

// inside returns an import path without the module's.
func inside(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, module), "/") }

// fits says whether a path is one of the patterns.
func fits(path string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		below, all := strings.CutSuffix(pattern, "/...")
		return path == below || all && strings.HasPrefix(path, below+"/")
	})
}

func directionOfImports(all program) (problems []string) {
	for path, p := range all {
		row := slices.IndexFunc(layers, func(l layer) bool { return fits(path, l.of) })
		if row < 0 {
			problems = append(problems, fmt.Sprintf("%s has no row in the table of layers: say what it may import", path))
			continue
		}
		for imported := range p.Imports {
			if !fits(imported, module+"/...") {
				continue
			}
			may := append(ancestors(path, layers[row].of), layers[row].may...)
			if of := inside(imported); !fits(of, path+"/...") && !fits(of, may...) {
				problems = append(problems, fmt.Sprintf("%s imports %s; of our packages it may import those below itself and %v",
					path, of, may))
			}
		}
	}
	return problems
}

// ancestors returns the packages that a path lies in, up to its row's: parts of one package know each other.
func ancestors(path, row string) []string {
	top := strings.TrimSuffix(row, "/...")
	var above []string
	for path != top && strings.HasPrefix(path, top) {
		path = filepath.Dir(path)
		above = append(above, path+"/...")
	}
	return above
}

func restrictedImports(all program) (problems []string) {
	for path, p := range all {
		for imported := range p.Imports {
			for _, rule := range restricted {
				if fits(imported, rule.what) && !fits(path, rule.only...) {
					problems = append(problems, fmt.Sprintf("%s imports %s, which is for %v only", path, imported, rule.only))
				}
			}
		}
	}
	return problems
}

// purity looks at the imports of each pure package, of which those from this module must be pure too, so that what
// holds for one holds for all that it reaches; and at every function that it names, whatever the package is imported as.
func purity(all program) (problems []string) {
	for path, p := range all {
		if !fits(path, pure...) {
			continue
		}
		for imported := range p.Imports {
			if fits(imported, impure...) {
				problems = append(problems, fmt.Sprintf("%s is pure and imports %s", path, imported))
			}
			if fits(imported, module+"/...") && !fits(inside(imported), pure...) {
				problems = append(problems, fmt.Sprintf("%s is pure and imports %s, which is not", path, inside(imported)))
			}
		}
		for ident, object := range p.TypesInfo.Uses {
			if object.Pkg() != nil && object.Parent() == object.Pkg().Scope() &&
				slices.Contains(forbiddenUses[object.Pkg().Path()], object.Name()) {
				problems = append(problems, fmt.Sprintf("%s: %s is pure and uses %s.%s",
					p.Fset.Position(ident.Pos()), path, object.Pkg().Path(), object.Name()))
			}
		}
	}
	return problems
}

func noInit(all program) (problems []string) {
	for path, p := range all {
		for _, file := range p.Syntax {
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "init" && f.Recv == nil {
					problems = append(problems, fmt.Sprintf("%s: %s has an init function: wire things where they are used",
						p.Fset.Position(f.Pos()), path))
				}
			}
		}
	}
	return problems
}
