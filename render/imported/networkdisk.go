package imported

import (
	"github.com/gitvirt/gitvirt/render/domxml"
)

// protocols are those of servers that a template has words for.
var protocols = map[string]bool{"iscsi": true, "nbd": true, "rbd": true, "nfs": true, "http": true, "https": true}

// networkDisk is a disk on a server. What opens it stays libvirt's: of a secret that the host has, documents can say no more
// than which it is, and that is domainXML's to say.
func networkDisk(d *domxml.Element) (volume map[string]any, why string) {
	source := d.Child("source")
	protocol := source.Attr("protocol")
	if !protocols[protocol] {
		return nil, "a disk of the protocol " + protocol
	}
	disk := map[string]any{"protocol": protocol}
	put(disk, "name", source.Attr("name"))
	known(disk, "format", d.Child("driver").Attr("type"), "qcow2")
	put(disk, "query", source.Attr("query"))
	put(disk, "snapshot", source.Child("snapshot").Attr("name"))
	put(disk, "initiator", source.Child("initiator/iqn").Attr("name"))
	if source.Attr("tls") == "yes" {
		disk["tls"] = true
	}
	var hosts []any
	for _, h := range source.All("host") {
		host := map[string]any{}
		put(host, "name", h.Attr("name"))
		put(host, "socket", h.Attr("socket"))
		if port, ok := number(h.Attr("port")); ok {
			host["port"] = port
		}
		hosts = append(hosts, host)
	}
	if len(hosts) == 0 {
		return nil, "a server that only the host's own configuration says"
	}
	disk["hosts"] = hosts
	if i := source.Child("identity"); i != nil {
		identity := map[string]any{}
		put(identity, "user", i.Attr("user"))
		put(identity, "group", i.Attr("group"))
		disk["identity"] = identity
	}
	return map[string]any{"network": disk}, ""
}

// onlyRead says whether a volume is never written to, so that its disk need not say so.
func onlyRead(volume map[string]any) bool {
	disk, ok := volume["network"].(map[string]any)
	return ok && (disk["protocol"] == "http" || disk["protocol"] == "https")
}
