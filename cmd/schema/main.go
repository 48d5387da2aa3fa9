package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := write(root); err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(1)
	}
}

// write makes the files anew in the project's folder.
func write(root string) error {
	made, err := generate(root)
	if err != nil {
		return err
	}
	for _, folder := range folders() {
		if err := os.RemoveAll(filepath.Join(root, folder)); err != nil {
			return fmt.Errorf("cannot remove the old files: %w", err)
		}
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return fmt.Errorf("cannot make the folder: %w", err)
		}
	}
	for name, data := range made {
		if err := os.WriteFile(filepath.Join(root, name), data, 0o644); err != nil {
			return fmt.Errorf("cannot write a file: %w", err)
		}
	}
	return nil
}
