package image

import (
	"bytes"
	"io"
	"maps"
	"slices"

	"github.com/kdomanski/iso9660"
)

// seedLabel is what cloud-init looks for among the file systems (its NoCloud data source).
const seedLabel = "cidata"

// writeSeed writes a NoCloud image with the files, which are secret. They are staged in a folder of their own below
// os.TempDir that only this user can read, and that is removed again.
func writeSeed(w io.Writer, files map[string][]byte) (err error) {
	iso, err := iso9660.NewWriter()
	if err != nil {
		return err
	}
	defer func() {
		if gone := iso.Cleanup(); err == nil {
			err = gone
		}
	}()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := iso.AddFile(bytes.NewReader(files[name]), name); err != nil {
			return err
		}
	}
	return iso.WriteTo(w, seedLabel)
}
