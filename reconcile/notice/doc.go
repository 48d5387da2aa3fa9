// Package notice decides what is worth telling others: how a revision fares on this host, and when an instance's state
// changes. It waits for nothing and asks nobody.
package notice
