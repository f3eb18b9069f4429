//go:build cgo

package main

import "testing"

// Formats whose numbers no type has are refused before anybody makes a type of them.
func TestCheckFormat(t *testing.T) {
	for _, format := range []string{"", "l", "d:1,0", "d:38,10", "d:38,38", "d:10,-2", "d:76,2,256", "d:9,2,32", "d:18,2,64", "d:38,2,128", "w:0", "w:16", "+w:3", "+l", "tsu:UTC"} {
		if err := checkFormat(format); err != nil {
			t.Errorf("%q: %v", format, err)
		}
	}
	for _, format := range []string{"d:", "d:10", "d:0,0", "d:-1,0", "d:99,2", "d:39,2", "d:39,2,128", "d:77,2,256", "d:10,2,32", "d:19,2,64", "d:10,2,16", "d:10,2,", "d:10,2,128,1",
		"d:x,2", "d:10,x", "d:10,99", "d:10,-99", "w:", "w:-1", "w:x", "w:99999999999", "+w:-1", "+w:"} {
		if err := checkFormat(format); err == nil {
			t.Errorf("%q passes", format)
		}
	}
}
