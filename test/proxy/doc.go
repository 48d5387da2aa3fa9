// Package proxy stands between a libvirt client and its libvirtd, counts the calls, and makes some of them fail.
//
// It understands libvirt's RPC framing (https://libvirt.org/kbase/internals/rpc.html): a packet is its length, a header
// of six words (program, version, procedure, type, serial, status; all big endian) and a payload. A reply has the
// serial of its call, and replies may come in another order than the calls.
package proxy
