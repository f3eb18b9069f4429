// Package agree lets the ranks of a Comm agree on what they do before they do it, and on
// whether it went well. Operations that are made of several collective calls use it: an
// error of one rank is told to all at the next point where they meet, and all of them
// return the same [Error]. No rank returns early while the others wait for it, and the
// Comm stays usable.
package agree
