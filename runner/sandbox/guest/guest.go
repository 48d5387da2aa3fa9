package guest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

//go:embed init.sh
var initScript string

// busyboxPath is where Debian's busybox-static and its relatives put the program.
const busyboxPath = "/bin/busybox"

// Words for the kernel's command line that change what the guest does, beside Image.Cmdline.
const (
	IgnoreACPI    = "gitvirt.ignore-acpi"     // it hears no shutdown request
	PoweroffAfter = "gitvirt.poweroff-after=" // with seconds: it powers off by itself
)

// Image is a guest to boot directly: the files and the text for <kernel>, <initrd> and <cmdline> of a domain.
type Image struct {
	Kernel, Initrd, Cmdline string
}

// cmdline keeps the kernel quiet, and free of work that makes no sense in an emulated CPU. After a panic the guest
// reboots at once, unless the domain has a panic device, whose on_crash comes first.
const cmdline = "console=ttyS0 quiet panic=-1 mitigations=off"

// modules are the drivers of the guest, by the names that modprobe knows.
func modules() []string {
	return []string{
		"virtio_pci", "virtio_blk", "virtio_net", "virtio_balloon", "virtio_rng", "virtio_console", "virtio_scsi", "sd_mod", "sr_mod",
		"isofs", "evdev", "button", "pvpanic_mmio", "pvpanic_pci", "qemu_fw_cfg",
	}
}

// Build returns the guest's image below a cache directory, and makes it if it is not there yet. Making it downloads
// Debian's kernel package with apt-get, once, and installs nothing; an image that is there needs no network. Several
// processes may build at the same time.
func Build(ctx context.Context, cacheDir string) (Image, error) {
	if runtime.GOARCH != "amd64" {
		return Image{}, fmt.Errorf("cannot build the guest: it is made for amd64, and this machine is %s", runtime.GOARCH)
	}
	cacheDir, err := filepath.Abs(cacheDir)
	if err != nil {
		return Image{}, fmt.Errorf("cannot build the guest: %w", err)
	}
	busybox, err := os.ReadFile(busyboxPath)
	if err != nil {
		return Image{}, fmt.Errorf("cannot build the guest: it needs a static busybox (Debian's busybox-static): %w", err)
	}
	if err := isStatic(busybox); err != nil {
		return Image{}, fmt.Errorf("cannot build the guest with %s: %w", busyboxPath, err)
	}
	dir := filepath.Join(cacheDir, "guest-"+digest(initScript, strings.Join(modules(), " "), string(busybox)))
	image := Image{Kernel: filepath.Join(dir, "vmlinuz"), Initrd: filepath.Join(dir, "initrd.gz"), Cmdline: cmdline}
	if exists(dir) {
		return image, nil
	}
	if err := os.MkdirAll(cacheDir, 0o755); err != nil {
		return Image{}, fmt.Errorf("cannot build the guest: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(cacheDir, "guest.lock"))
	if err != nil {
		return Image{}, fmt.Errorf("cannot build the guest: %w", err)
	}
	defer unlock()
	if exists(dir) { // another has built it meanwhile
		return image, nil
	}
	if err := build(ctx, cacheDir, dir, busybox); err != nil {
		return Image{}, fmt.Errorf("cannot build the guest: %w", err)
	}
	return image, nil
}

// build makes the image in a temporary directory beside dir, and renames it.
func build(ctx context.Context, cacheDir, dir string, busybox []byte) error {
	work, err := os.MkdirTemp(cacheDir, "build")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	kernel, err := unpackKernel(ctx, cacheDir, filepath.Join(work, "kernel"))
	if err != nil {
		return err
	}
	loaded, err := kernel.load(ctx, modules())
	if err != nil {
		return err
	}
	applets, err := run(ctx, busyboxPath, "--list")
	if err != nil {
		return err
	}
	made := filepath.Join(work, "image")
	if err := os.Mkdir(made, 0o755); err != nil {
		return err
	}
	if err := os.Rename(kernel.image, filepath.Join(made, "vmlinuz")); err != nil {
		return err
	}
	initramfs := initramfs{init: initScript, busybox: busybox, applets: strings.Fields(applets), modules: loaded}
	if err := initramfs.writeFile(filepath.Join(made, "initrd.gz")); err != nil {
		return err
	}
	return os.Rename(made, dir)
}

// isStatic refuses a program that needs a dynamic linker, because the guest has none.
func isStatic(program []byte) error {
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return err
	}
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			return errors.New("it is not statically linked; install the static one (Debian's busybox-static)")
		}
	}
	return nil
}

// lock holds a file lock, which ends with the process if unlock does not end it.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			file.Close()
			return nil, fmt.Errorf("cannot lock %s: %w", path, err)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("cannot lock %s, which another process holds: %w", path, ctx.Err())
		}
	}
}

// run runs a program and returns what it printed. The error carries what it complained of.
func run(ctx context.Context, name string, args ...string) (string, error) {
	return runIn(ctx, "", name, args...)
}

func runIn(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot run %s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// digest names what an image was made of.
func digest(inputs ...string) string {
	hash := sha256.New()
	for _, input := range inputs {
		fmt.Fprintf(hash, "%d:%s", len(input), input)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
