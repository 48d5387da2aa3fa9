// Package web is the source of disk images at URLs: http, https, and files of this host. A download that was cut off goes on
// where it was, and nothing of it is used before all of it has the checksum that it must have.
package web
