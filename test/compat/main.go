package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gitvirt/gitvirt/render"
	"github.com/gitvirt/gitvirt/render/domxml"
	"github.com/gitvirt/gitvirt/render/manifest"
	"github.com/gitvirt/gitvirt/runner/sandbox"
)

func main() {
	host := flag.String("host", "", "a file with Host documents; machines are on the host kvm1")
	flag.Parse()
	if err := run(*host, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "compat:", err)
		os.Exit(1)
	}
}

// run measures all folders and prints a line for each manifest, and the share.
func run(host string, dirs []string) error {
	files, err := read(host, dirs)
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := sandbox.Start(ctx, sandbox.Options{DefaultPool: true})
	if err != nil {
		return err
	}
	defer s.Close()
	machines, library := split(files)
	runs := 0
	for _, m := range machines {
		why := try(ctx, s, append(slices.Clone(library), m))
		if len(why) == 0 {
			runs++
			fmt.Printf("runs    %s: %s %s\n", m.Path, m.Documents[0].Written, m.Documents[0].Name)
			continue
		}
		fmt.Printf("cannot  %s: %s\n", m.Path, strings.Join(why, "\n        "))
	}
	if len(machines) > 0 {
		fmt.Printf("%d of %d machines (%.1f%%) render to a domain that libvirt accepts with validation and keeps\n",
			runs, len(machines), 100*float64(runs)/float64(len(machines)))
	}
	return s.Close()
}

// read reads the documents of the folders, and the Host's.
func read(host string, dirs []string) ([]manifest.File, error) {
	var files []manifest.File
	add := func(name string) error {
		data, err := os.ReadFile(name)
		if err == nil {
			files = append(files, manifest.Read(name, data))
		}
		return err
	}
	if host != "" {
		if err := add(host); err != nil {
			return nil, err
		}
	}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !manifest.IsDocumentFile(name) {
				return err
			}
			return add(name)
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// split makes a file of its own of each manifest of a machine, and one of each other document.
func split(files []manifest.File) (machines, library []manifest.File) {
	for _, f := range files {
		parts := map[int]*manifest.File{}
		var order []int
		machine := map[int]bool{}
		for _, d := range f.Documents {
			if parts[d.Index] == nil {
				parts[d.Index] = &manifest.File{Path: f.Path}
				order = append(order, d.Index)
			}
			parts[d.Index].Documents = append(parts[d.Index].Documents, d)
			machine[d.Index] = machine[d.Index] || d.Kind == manifest.KindConfig
		}
		for _, n := range order {
			p := parts[n]
			for _, problem := range f.Problems {
				if len(order) == 1 || problem.Kind == p.Documents[0].Written && problem.Name == p.Documents[0].Name {
					p.Problems = append(p.Problems, problem)
				}
			}
			unreadable := p.Documents[0].Kind == "" && !slices.ContainsFunc(p.Problems, func(p manifest.Problem) bool { return p.Kind != "" })
			if machine[n] || unreadable {
				machines = append(machines, *p)
			} else if len(p.Problems) == 0 && !taken(library, *p) {
				library = append(library, *p)
			}
		}
	}
	return machines, library
}

// taken says whether the library has a document of that kind and name. Folders of samples have some twice, which one
// repository may not.
func taken(library []manifest.File, f manifest.File) bool {
	return slices.ContainsFunc(library, func(have manifest.File) bool {
		return slices.ContainsFunc(have.Documents, func(a manifest.Document) bool {
			return slices.ContainsFunc(f.Documents, func(b manifest.Document) bool { return a.Kind == b.Kind && a.Name == b.Name })
		})
	})
}

// try says why the machines of a set cannot run; nothing when they can.
func try(ctx context.Context, s *sandbox.Sandbox, files []manifest.File) []string {
	var why []string
	add := func(problems []manifest.Problem) {
		for _, p := range problems {
			why = append(why, p.String())
		}
	}
	set := manifest.Collect(files, func(string) ([]byte, bool) { return nil, false })
	placement := render.Place(set, "kvm1")
	add(set.Problems)
	add(placement.Problems)
	if len(why) == 0 && len(set.Configs) == 0 {
		return []string{"it holds no machine"}
	}
	for _, m := range placement.Machines {
		i, problems := placement.Of(m, render.Options{Fleet: "compat", DomainType: "qemu"})
		add(problems)
		if i == nil {
			continue
		}
		if err := define(ctx, s, i); err != nil {
			why = append(why, err.Error())
		}
	}
	return why
}

// define has libvirt define a domain, looks whether it keeps what was declared, and removes it.
func define(ctx context.Context, s *sandbox.Sandbox, i *render.Instance) error {
	created, _ := domxml.Create(i.Domain)
	file := filepath.Join(s.Dir(), "compat.xml")
	if err := os.WriteFile(file, []byte(created.String()), 0o600); err != nil {
		return err
	}
	if out, err := s.Virsh(ctx, "define", "--validate", file); err != nil {
		return fmt.Errorf("libvirt refuses it: %w: %s", err, strings.TrimSpace(out))
	}
	defer func() { _, _ = s.Virsh(ctx, "undefine", "--nvram", i.Name) }() // the next of that name says so
	out, err := s.Virsh(ctx, "dumpxml", "--inactive", "--security-info", i.Name)
	if err != nil {
		return err
	}
	kept, err := domxml.Parse(out)
	if err != nil {
		return err
	}
	if changes := domxml.Compare(i.Domain, kept, i.Domain); len(changes) > 0 {
		return fmt.Errorf("libvirt does not keep what was declared: %v", changes)
	}
	return nil
}
