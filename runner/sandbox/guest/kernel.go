package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kernelPackage is Debian's name for the newest cloud kernel; it depends on the one with a version that holds it.
const kernelPackage = "linux-image-cloud-amd64"

// kernel is an unpacked kernel package.
type kernel struct {
	image   string // the file to boot
	modules string // the folder with modules.dep
}

// module is a driver, ready to be loaded.
type module struct {
	name string
	data []byte
}

// unpackKernel unpacks the kernel package into dir. The package is kept in the cache directory.
func unpackKernel(ctx context.Context, cacheDir, dir string) (kernel, error) {
	packages, err := filepath.Glob(filepath.Join(cacheDir, "linux-image-*.deb"))
	if err != nil {
		return kernel{}, err
	}
	if len(packages) == 0 {
		file, err := downloadKernel(ctx, cacheDir)
		if err != nil {
			return kernel{}, err
		}
		packages = []string{file}
	}
	if _, err := run(ctx, "dpkg-deb", "-x", packages[len(packages)-1], dir); err != nil {
		return kernel{}, err
	}
	images, _ := filepath.Glob(filepath.Join(dir, "boot", "vmlinuz-*"))
	versions, _ := filepath.Glob(filepath.Join(dir, "lib", "modules", "*"))
	root := dir
	if len(versions) == 0 { // where a merged /usr is packaged as such
		root = filepath.Join(dir, "usr")
		versions, _ = filepath.Glob(filepath.Join(root, "lib", "modules", "*"))
	}
	if len(images) != 1 || len(versions) != 1 {
		return kernel{}, fmt.Errorf("cannot use %s: it holds %d kernels and the modules of %d, want one each",
			filepath.Base(packages[len(packages)-1]), len(images), len(versions))
	}
	if _, err := run(ctx, "depmod", "-b", root, filepath.Base(versions[0])); err != nil {
		return kernel{}, err
	}
	return kernel{image: images[0], modules: versions[0]}, nil
}

// downloadKernel has apt fetch and verify the package, in a folder of its own so that half of one is never seen.
func downloadKernel(ctx context.Context, cacheDir string) (string, error) {
	text, err := run(ctx, "apt-cache", "depends", kernelPackage)
	if err != nil {
		return "", err
	}
	name, ok := dependency(text)
	if !ok {
		return "", fmt.Errorf("cannot find the package behind %s: apt knows no such package here; run apt-get update",
			kernelPackage)
	}
	dir, err := os.MkdirTemp(cacheDir, "download")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if _, err := runIn(ctx, dir, "apt-get", "download", name); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("cannot find what apt-get downloaded for %s: %d files: %w", name, len(files), err)
	}
	file := filepath.Join(cacheDir, filepath.Base(files[0]))
	return file, os.Rename(files[0], file)
}

// dependency finds the kernel in the output of apt-cache depends.
func dependency(text string) (string, bool) {
	for line := range strings.Lines(text) {
		kind, name, _ := strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "|"), ": ")
		if kind == "Depends" && strings.HasPrefix(name, "linux-image-") {
			return name, true
		}
	}
	return "", false
}

// load returns modules with all that they depend on, in an order in which they can be loaded.
func (k kernel) load(ctx context.Context, names []string) ([]module, error) {
	dep, err := os.ReadFile(filepath.Join(k.modules, "modules.dep"))
	if err != nil {
		return nil, err
	}
	builtin, err := os.ReadFile(filepath.Join(k.modules, "modules.builtin"))
	if err != nil {
		return nil, err
	}
	files, err := loadOrder(string(dep), string(builtin), names)
	if err != nil {
		return nil, err
	}
	var loaded []module
	for _, file := range files {
		data, err := readModule(ctx, filepath.Join(k.modules, file))
		if err != nil {
			return nil, err
		}
		loaded = append(loaded, module{name: moduleName(file), data: data})
	}
	return loaded, nil
}

// loadOrder reads depmod's modules.dep ("FILE: FILE …", a module and what it needs) and modules.builtin (a file a
// line, of drivers that are part of the kernel), and returns the files to load, in order.
func loadOrder(dep, builtin string, names []string) ([]string, error) {
	files, needs := map[string]string{}, map[string][]string{}
	for line := range strings.Lines(dep) {
		file, needed, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		files[moduleName(file)] = file
		needs[file] = strings.Fields(needed)
	}
	inKernel := map[string]bool{}
	for line := range strings.Lines(builtin) {
		inKernel[moduleName(strings.TrimSpace(line))] = true
	}
	var order []string
	var add func(file string)
	add = func(file string) {
		if slices.Contains(order, file) {
			return
		}
		for _, needed := range slices.Backward(needs[file]) {
			add(needed)
		}
		order = append(order, file)
	}
	for _, name := range names {
		file, ok := files[name]
		if ok {
			add(file)
		} else if !inKernel[name] {
			return nil, fmt.Errorf("the kernel has no module %s", name)
		}
	}
	return order, nil
}

// moduleName is what modprobe calls a file: "virtio_rng" for kernel/drivers/char/hw_random/virtio-rng.ko.xz.
func moduleName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return strings.ReplaceAll(name, "-", "_")
}

// readModule returns a module, decompressed with the program for its kind of compression.
func readModule(ctx context.Context, file string) ([]byte, error) {
	programs := map[string]string{".xz": "xz", ".zst": "zstd", ".gz": "gzip"}
	program, compressed := programs[filepath.Ext(file)]
	if !compressed {
		return os.ReadFile(file)
	}
	out, err := run(ctx, program, "-dc", file)
	return []byte(out), err
}
