// Package verify says whether a commit or tag of git was signed with a key that is trusted.
//
// It works on bytes alone: the object as git stores it, the contents of the key files, and the time. A signature counts
// for the bytes that were signed and for no others, so objects are cut apart by strict rules and never written anew, and
// what two programs could read in two ways is refused. What is trusted is what the key files list; nothing is looked up
// elsewhere. Where the rules leave a choice it is made as `git verify-commit` and `git verify-tag` make it, and where
// they are more lenient it is said at the place.
package verify
