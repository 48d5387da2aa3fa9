package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render/domxml"
)

// document is an input.
type document struct {
	path string
	tree *domxml.Element
}

// readInputs reads the XML files of the folders whose root is <domain>. A text that is there twice counts once.
func readInputs(dirs []string) ([]document, error) {
	var documents []document
	seen := map[string]bool{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || filepath.Ext(name) != ".xml" {
				return err
			}
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if !bytes.Contains(data, []byte("<domain")) {
				return nil
			}
			tree, err := domxml.Parse(string(data))
			if err != nil || tree.Name != "domain" || seen[tree.String()] {
				return nil // it is something else, or is meant to be broken
			}
			seen[tree.String()] = true
			if short, err := filepath.Rel(dir, name); err == nil {
				name = short
			}
			documents = append(documents, document{name, tree})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("cannot read the inputs: %w", err)
		}
	}
	if len(documents) == 0 {
		return nil, fmt.Errorf("cannot find an XML file with the root <domain> in %s", strings.Join(dirs, ", "))
	}
	slices.SortFunc(documents, func(a, b document) int { return strings.Compare(a.path, b.path) })
	return documents, nil
}

// adapt makes a domain of another hypervisor, accelerator or architecture one that QEMU's emulation of x86_64 may run.
// It takes away only what names those.
func adapt(tree *domxml.Element) *domxml.Element {
	e := tree.Clone()
	e.SetAttr("type", "qemu")
	os := e.Ensure("os")
	kind := os.Ensure("type")
	kind.Text = "hvm"
	if arch := kind.Attr("arch"); arch != "x86_64" && arch != "" || !strings.HasPrefix(kind.Attr("machine"), "q35") && !strings.HasPrefix(kind.Attr("machine"), "pc") {
		kind.RemoveAttr("machine")
	}
	kind.SetAttr("arch", "x86_64")
	for _, name := range []string{"loader", "nvram"} {
		// Firmware is a file of the machine that the document was written for.
		if c := os.Child(name); c != nil {
			os.Remove(c)
		}
	}
	if cpu := e.Child("cpu"); cpu.Attr("mode") == "host-passthrough" {
		cpu.SetAttr("mode", "maximum")
	}
	for _, c := range slices.Clone(e.Children) {
		if strings.Contains(c.Name, ":") && !strings.HasPrefix(c.Name, "qemu:") {
			e.Remove(c) // it is in another hypervisor's namespace
		}
	}
	if devices := e.Child("devices"); devices != nil {
		for _, c := range slices.Clone(devices.Children) {
			if c.Name == "emulator" {
				devices.Remove(c)
			}
		}
	}
	return e
}
