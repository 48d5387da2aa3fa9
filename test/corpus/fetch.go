package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// fetch gets Debian's source package of libvirt into a folder, and returns where its tests' inputs are. The sources are the
// machine's own, asked for source packages, in a configuration that lies in the folder as well.
func fetch(ctx context.Context, dir string) (string, error) {
	list, err := sourceList(dir)
	if err != nil {
		return "", err
	}
	apt := []string{
		"-o", "Dir::Etc::sourcelist=" + list, "-o", "Dir::Etc::sourceparts=-",
		"-o", "Dir::State::lists=" + filepath.Join(dir, "lists"), "-o", "Dir::Cache=" + filepath.Join(dir, "cache"),
		"-o", "APT::Sandbox::User=root", // its usual one may not read the folder
	}
	for _, d := range []string{"lists/partial", "cache/archives/partial", "source", "tests"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return "", fmt.Errorf("cannot fetch libvirt's source package: %w", err)
		}
	}
	source := filepath.Join(dir, "source")
	for _, args := range [][]string{{"update"}, {"source", "--download-only", "libvirt"}} {
		if err := command(ctx, source, "apt-get", append(apt, args...)...); err != nil {
			return "", err
		}
	}
	archives, err := filepath.Glob(filepath.Join(source, "libvirt_*.orig.tar.*"))
	if err != nil || len(archives) == 0 {
		return "", fmt.Errorf("cannot find the archive of libvirt's source package in %s", source)
	}
	tests := filepath.Join(dir, "tests")
	for _, archive := range archives {
		if strings.HasSuffix(archive, ".asc") {
			continue
		}
		if err := command(ctx, tests, "tar", "-xf", archive, "--strip-components=2", "--wildcards", "*/tests/*.xml"); err != nil {
			return "", err
		}
	}
	return tests, nil
}

// sourceList writes a list of package sources: the machine's Debian ones, for source packages.
func sourceList(dir string) (string, error) {
	var out strings.Builder
	for _, pattern := range []string{"/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list", "/etc/apt/sources.list.d/*.sources"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return "", fmt.Errorf("cannot read the machine's package sources: %w", err)
			}
			out.WriteString(sourcesOf(string(text), strings.HasSuffix(file, ".sources")))
		}
	}
	if out.Len() == 0 {
		return "", fmt.Errorf("cannot find a package source in /etc/apt; name a folder of domain XML files instead")
	}
	file := filepath.Join(dir, "corpus.list")
	if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
		return "", fmt.Errorf("cannot write a list of package sources: %w", err)
	}
	return file, nil
}

var (
	debLine = regexp.MustCompile(`(?m)^deb\s+(.*)$`)
	field   = regexp.MustCompile(`(?mi)^(types|uris|suites|components|signed-by):[ \t]*(.*)$`)
)

// sourcesOf returns the deb-src lines for a file of package sources, in one of apt's two formats.
func sourcesOf(text string, deb822 bool) string {
	var out strings.Builder
	if !deb822 {
		for _, m := range debLine.FindAllStringSubmatch(text, -1) {
			fmt.Fprintf(&out, "deb-src %s\n", m[1])
		}
		return out.String()
	}
	for stanza := range strings.SplitSeq(text, "\n\n") {
		fields := map[string]string{}
		for _, m := range field.FindAllStringSubmatch(stanza, -1) {
			fields[strings.ToLower(m[1])] = strings.TrimSpace(m[2])
		}
		option := ""
		if key := fields["signed-by"]; key != "" {
			option = "[signed-by=" + key + "] "
		}
		for uri := range strings.FieldsSeq(fields["uris"]) {
			for suite := range strings.FieldsSeq(fields["suites"]) {
				fmt.Fprintf(&out, "deb-src %s%s %s %s\n", option, uri, suite, fields["components"])
			}
		}
	}
	return out.String()
}

func command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot run %s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
