package runner

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"

	"github.com/digitalocean/go-libvirt"
)

// storagePool is a storage pool that is a folder of this host.
type storagePool struct {
	pool libvirt.StoragePool
	dir  string
}

// findPool finds an active pool that is a folder. Files are made in that folder directly: sending them through libvirt
// (virStorageVolUpload) is slower, and a full disk can go unnoticed there.
func (r *Runner) findPool(ctx context.Context, name string) (storagePool, error) {
	type found struct {
		pool   libvirt.StoragePool
		active int32
		xml    string
	}
	f, err := read(ctx, r, func(lv *libvirt.Libvirt) (f found, err error) {
		if f.pool, err = lv.StoragePoolLookupByName(name); err != nil {
			return f, err
		}
		if f.active, err = lv.StoragePoolIsActive(f.pool); err != nil {
			return f, err
		}
		f.xml, err = lv.StoragePoolGetXMLDesc(f.pool, 0)
		return f, err
	})
	switch {
	case code(err) == libvirt.ErrNoStoragePool:
		return storagePool{}, classed{ErrPool, fmt.Errorf("there is no storage pool %q; define and start it", name)}
	case err != nil:
		return storagePool{}, fmt.Errorf("storage pool %q: %w", name, err)
	case f.active != 1:
		return storagePool{}, classed{ErrPool, fmt.Errorf("the storage pool %q is not active; start it", name)}
	}
	dir, err := poolDir(f.xml)
	if err != nil {
		return storagePool{}, classed{ErrPool, fmt.Errorf("the storage pool %q cannot be used: %w", name, err)}
	}
	return storagePool{f.pool, dir}, nil
}

// poolDir reads the folder from a pool's XML (https://libvirt.org/formatstorage.html).
func poolDir(text string) (string, error) {
	var doc struct {
		Type string `xml:"type,attr"`
		Path string `xml:"target>path"`
	}
	if err := xml.Unmarshal([]byte(text), &doc); err != nil {
		return "", fmt.Errorf("cannot read its XML: %w", err)
	}
	switch doc.Type {
	case "dir", "fs", "netfs":
	default:
		return "", fmt.Errorf("it is of type %q; images can be made in those that are folders (dir, fs, netfs)", doc.Type)
	}
	if doc.Path == "" {
		return "", errors.New("its XML names no folder")
	}
	return doc.Path, nil
}

// knowsAll says whether libvirt knows files of a pool. It does not know one that was made behind its back until
// the pool is refreshed, and cannot start a domain with it.
func (r *Runner) knowsAll(ctx context.Context, p storagePool, files []string) (bool, error) {
	return read(ctx, r, func(lv *libvirt.Libvirt) (bool, error) {
		for _, file := range files {
			_, err := lv.StorageVolLookupByName(p.pool, file)
			if code(err) == libvirt.ErrNoStorageVol {
				return false, nil
			}
			if err != nil {
				return false, err
			}
		}
		return true, nil
	})
}
