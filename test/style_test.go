package test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const maxLines = 350

// packageComments wants each package's job in the first sentence of its comment, in one file.
func packageComments(all program) (problems []string) {
	for path, p := range all {
		var comments []string
		for _, file := range p.Syntax {
			if file.Doc != nil {
				comments = append(comments, strings.Join(strings.Fields(file.Doc.Text()), " "))
			}
		}
		start := "Package " + p.Name + " "
		if p.Name == "main" {
			start = "Command " + filepath.Base(path) + " "
		}
		switch {
		case len(comments) != 1:
			problems = append(problems, fmt.Sprintf("%s has %d package comments, want one, in doc.go", path, len(comments)))
		case !strings.HasPrefix(comments[0], start) || !strings.Contains(comments[0]+" ", ". "):
			problems = append(problems, fmt.Sprintf("%s: its comment must start with a sentence that starts with %q: %s",
				path, start, comments[0]))
		}
	}
	return problems
}

func TestFilesAreShort(t *testing.T) {
	for _, file := range files(t, ".go") {
		if lines := bytes.Count(read(t, file), []byte("\n")); lines > maxLines && !strings.HasSuffix(file, "_test.go") {
			t.Errorf("%s has %d lines, and %d is the limit: give it one job", file, lines, maxLines)
		}
	}
}

// TestNoTestIsSkipped looks for the methods of testing.TB that skip, whatever the receiver is called.
func TestNoTestIsSkipped(t *testing.T) {
	for _, file := range files(t, ".go") {
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, method.Sel.Name) && strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s: a test that is skipped proves nothing", fset.Position(call.Pos()))
			}
			return true
		})
	}
}

// TestNothingIsLeftToDo looks for notes of unfinished work in everything that people write.
func TestNothingIsLeftToDo(t *testing.T) {
	note := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	for _, file := range files(t, ".go", ".md", ".sh", ".yaml", ".yml", ".xml", ".txt", ".txtar", ".html", ".service", "") {
		for i, line := range bytes.Split(read(t, file), []byte("\n")) {
			if note.Match(line) {
				t.Errorf("%s:%d: finish it, or open an issue: %s", file, i+1, line)
			}
		}
	}
}

// files returns the module's files with one of the extensions, relative to this folder. It leaves out what git does not
// keep and what no person wrote.
func files(t *testing.T, extensions ...string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", ".cache"}, entry.Name()) {
			return filepath.SkipDir
		}
		if entry.Type().IsRegular() && path != "../gitvirt" && slices.Contains(extensions, filepath.Ext(path)) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("found %d files: %v", len(found), err)
	}
	return found
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
