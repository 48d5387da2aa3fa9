// Package download brings files to their places on this host: each once, however many want it, bounded in number, speed and
// room, and told of on the way. Where a file comes from is a Source's business. A file is at its place whole or not at
// all, what it was is recorded beside it, and once there it is not fetched again.
package download
