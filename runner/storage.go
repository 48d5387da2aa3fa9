package runner

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"

	"github.com/digitalocean/go-libvirt"
)

// storagePool is a storage pool of this host.
type storagePool struct {
	pool libvirt.StoragePool
	kind string // libvirt's type of it
	dir  string // its folder; empty for one that is none
}

func (p storagePool) folder() bool { return p.dir != "" }

// findPool finds an active pool in which volumes can be made. Where that is a folder, files are made in it directly: sending
// them through libvirt (virStorageVolUpload) is slower, and a full disk can go unnoticed there.
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
	kind, dir, err := poolKind(f.xml)
	if err != nil {
		return storagePool{}, classed{ErrPool, fmt.Errorf("the storage pool %q cannot be used: %w", name, err)}
	}
	return storagePool{f.pool, kind, dir}, nil
}

// poolKind reads the type, and the folder of one that is a folder, from a pool's XML
// (https://libvirt.org/formatstorage.html). Which types a machine can have volumes of by their names says libvirt's
// virStorageTranslateDiskSourcePool.
func poolKind(text string) (kind, dir string, err error) {
	var doc struct {
		Type string `xml:"type,attr"`
		Path string `xml:"target>path"`
	}
	if err := xml.Unmarshal([]byte(text), &doc); err != nil {
		return "", "", fmt.Errorf("cannot read its XML: %w", err)
	}
	switch doc.Type {
	case "dir", "fs", "netfs":
		if doc.Path == "" {
			return "", "", errors.New("its XML names no folder")
		}
		return doc.Type, doc.Path, nil
	case "logical", "zfs":
		return doc.Type, "", nil
	case "disk", "iscsi", "iscsi-direct", "scsi":
		return "", "", fmt.Errorf("it is of type %q, which names its volumes itself: name one of them in the domainXML, and list it as POOL/VOLUME in policy.pools of the agent's file", doc.Type)
	case "rbd", "gluster", "sheepdog", "mpath":
		return "", "", fmt.Errorf("it is of type %q, of which libvirt gives machines no volumes by name: say where the disk is in the volume itself", doc.Type)
	}
	return "", "", fmt.Errorf("it is of type %q; volumes can be made in those that are folders (dir, fs, netfs), and in logical and zfs", doc.Type)
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
