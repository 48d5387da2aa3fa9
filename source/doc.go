// Package source turns a branch of a git repository into revisions: complete, whole trees of files at one commit.
//
// The objects live in a bare store with the branch's full history and nothing else: no tags, no work tree, and never
// shallow. A shallow store that is fetched into again can lose subtrees without an error, and a lost subtree looks
// like deletions. So a revision counts only once every tree and blob under the path has been read and its hash
// checked, and the store is a cache: whatever is wrong with it, it is thrown away and fetched again.
//
// The git protocol is spoken here with go-git's codecs, not through git.Remote. git.Remote finds its transports in a
// global registry, runs the git binary for local repositories, dials SSH without a deadline, and asks for every
// reference at every poll.
package source
