package main

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/render/manifest/schema"
)

const (
	schemaFolder    = "deploy/schema"
	referenceFolder = "deploy/reference"
	// kindsFolder has a file for each kind: an example, and above it in comments what the kind is for.
	kindsFolder = "cmd/schema/kinds"
	// typesFolder has the source of the documents' types.
	typesFolder = "render/manifest"
	typesPath   = "github.com/gitvirt/gitvirt/render/manifest"
)

// folders are those that hold nothing but what is generated.
func folders() []string { return []string{schemaFolder, referenceFolder} }

// generate makes the files, by their paths in the project, whose folder is root.
func generate(root string) (map[string][]byte, error) {
	docs, err := readDocs(filepath.Join(root, typesFolder), typesPath)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, kind := range manifest.Kinds() {
		page, err := readPage(filepath.Join(root, kindsFolder, kind+".yaml"))
		if err != nil {
			return nil, err
		}
		if files[schemaFolder+"/"+schema.FileName(kind)], err = schema.JSON(kind, docs); err != nil {
			return nil, err
		}
		if files[referenceFolder+"/"+kind+".md"], err = schema.Reference(kind, docs, page); err != nil {
			return nil, err
		}
	}
	if files[schemaFolder+"/gitvirt.json"], err = schema.JSONOfAll(docs); err != nil {
		return nil, err
	}
	if files[referenceFolder+"/"+schema.TemplatePage+".md"], err = schema.ReferenceOfTemplate(docs); err != nil {
		return nil, err
	}
	if files[referenceFolder+"/os.md"], err = referenceOfSystems(); err != nil {
		return nil, err
	}
	files[referenceFolder+"/changes.md"] = referenceOfChanges()
	return files, nil
}

// readPage splits the file of a kind: the comment that it begins with says what the kind is for.
func readPage(name string) (schema.Page, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return schema.Page{}, fmt.Errorf("cannot read a kind's page; write a small example there, and above it in comments "+
			"what the kind is for: %w", err)
	}
	var page schema.Page
	example := string(data)
	for strings.HasPrefix(example, "#") {
		var line string
		line, example, _ = strings.Cut(example, "\n")
		page.Purpose += strings.TrimPrefix(strings.TrimPrefix(line, "#"), " ") + "\n"
	}
	page.Purpose, page.Example = strings.TrimSpace(page.Purpose), strings.TrimSpace(example)
	if page.Purpose == "" || page.Example == "" {
		return page, fmt.Errorf("cannot use %s: it must have comments that say what the kind is for, and then an example", name)
	}
	return page, nil
}

// readDocs reads the comments of a package's types and of their fields.
func readDocs(folder, path string) (schema.Docs, error) {
	docs := schema.Docs{Types: map[string]string{}, Fields: map[string]string{}}
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(names) == 0 {
		return docs, fmt.Errorf("cannot find the types in %s: %w", folder, os.ErrNotExist)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return docs, fmt.Errorf("cannot read the types: %w", err)
		}
		for _, d := range file.Decls {
			if decl, ok := d.(*ast.GenDecl); ok && decl.Tok == token.TYPE {
				for _, spec := range decl.Specs {
					addDocs(docs, path, decl, spec.(*ast.TypeSpec))
				}
			}
		}
	}
	return docs, nil
}

// addDocs adds those of one type.
func addDocs(docs schema.Docs, path string, decl *ast.GenDecl, spec *ast.TypeSpec) {
	key := path + "." + spec.Name.Name
	if spec.Doc != nil {
		docs.Types[key] = text(spec.Doc)
	} else if !decl.Lparen.IsValid() {
		docs.Types[key] = text(decl.Doc)
	}
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range fields.Fields.List {
		said := strings.TrimSpace(text(f.Doc) + "\n\n" + text(f.Comment))
		for _, name := range f.Names {
			docs.Fields[key+"."+name.Name] = said
		}
	}
}

// text is a comment as plain text, without the brackets of links.
func text(c *ast.CommentGroup) string {
	var p comment.Parser
	var printer comment.Printer
	printer.TextWidth = -1
	return strings.TrimSpace(string(printer.Text(p.Parse(c.Text()))))
}
