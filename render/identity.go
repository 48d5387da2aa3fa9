package render

import (
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"
)

// domainUUID is the same for the same fleet and instance name, so that a rebuilt machine is itself.
func domainUUID(fleet, instance string) string {
	space := uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://gitvirt.io/fleet/"+fleet))
	return uuid.NewSHA1(space, []byte(instance)).String()
}

// macAddress is the same for the same fleet, instance and interface name: 52, which is locally administered and unicast,
// and 40 bits of a hash. QEMU's 52:54:00 leaves 24 bits, of which a few thousand interfaces would collide.
func macAddress(fleet, instance, device string) string {
	h := sha256.Sum256([]byte(fleet + "\x00" + instance + "\x00" + device))
	return fmt.Sprintf("52:%02x:%02x:%02x:%02x:%02x", h[0], h[1], h[2], h[3], h[4])
}
