package image

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/gitvirt/gitvirt/render"
)

// The steps of make, each of which a kill can be the last of.
const Steps = 5

// MakeUntil makes a file as make does, and stops after some of the steps, as a killed process would.
func MakeUntil(ctx context.Context, m Maker, path string, v render.Volume, step int) error {
	tmp, err := CreateTemp(filepath.Dir(path))
	if err != nil || step == 1 {
		return err
	}
	if step == 2 { // killed while the content is written
		_, err := tmp.File.WriteString("half")
		return err
	}
	if err := m.fill(ctx, tmp.File, v, nil); err != nil || step == 3 {
		return err
	}
	if err := tmp.File.Sync(); err != nil || step == 4 {
		return err
	}
	if step == Steps { // renamed, and the folder not synced
		return tmp.Rename(path, false)
	}
	return fmt.Errorf("there is no step %d", step)
}

// ForeignTemp is the name of a temporary file of another host.
func ForeignTemp(pid int) string {
	return tempPrefix + owner{"0123456789abcdef", pid, 1}.String() + "-1.tmp"
}

// DeadTemp is the name of a temporary file of a process of this boot that is gone.
func DeadTemp(pid int) (string, error) {
	self, err := thisOwner()
	if err != nil {
		return "", err
	}
	self.pid, self.start = pid, 1
	return tempPrefix + self.String() + "-1.tmp", nil
}
