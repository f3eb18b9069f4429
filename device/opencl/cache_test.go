package opencl

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func TestCacheKeepsAndForgets(t *testing.T) {
	c := &cache{folder: filepath.Join(t.TempDir(), "a", "b"), limit: 1 << 20}
	key := cacheKey("device", "source")
	if c.read(key) != nil {
		t.Fatal("an empty cache has something")
	}
	image := bytes.Repeat([]byte("code"), 1000)
	if err := c.write(key, image); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(c.read(key), image) {
		t.Fatal("it came back changed")
	}
	if cacheKey("device", "source") != key || cacheKey("devices", "ource") == key || cacheKey("device", "source", "") == key {
		t.Fatal("keys of different parts are one")
	}
	for name, damage := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)-1] },
		"flipped": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"other":   func([]byte) []byte { return []byte("something else") },
		"empty":   func([]byte) []byte { return nil },
	} {
		content, err := os.ReadFile(c.path(key))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.path(key), damage(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.read(key) != nil {
			t.Errorf("%s: a damaged file was read", name)
		}
		if _, err := os.Stat(c.path(key)); !os.IsNotExist(err) {
			t.Errorf("%s: a damaged file was left: %v", name, err)
		}
		if err := c.write(key, image); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCacheIsBounded drops what was not used for longest.
func TestCacheIsBounded(t *testing.T) {
	c := &cache{folder: t.TempDir(), limit: 50_000}
	image := make([]byte, 10_000)
	keys := []string{"a", "b", "c", "d"}
	for i, k := range keys {
		if err := c.write(k, image); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-10) * time.Minute)
		if err := os.Chtimes(c.path(k), at, at); err != nil {
			t.Fatal(err)
		}
	}
	left := filepath.Join(c.folder, "new-left")
	if err := os.WriteFile(left, image, 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	if c.read("a") == nil { // now the one used last
		t.Fatal("a is gone")
	}
	if err := c.write("e", image); err != nil {
		t.Fatal(err)
	}
	for k, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true, "e": true} {
		if got := c.read(k) != nil; got != want {
			t.Errorf("%s is there: %v", k, got)
		}
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Error("what an interrupted writer left is still there")
	}
	if err := c.write("big", make([]byte, 40_000)); err != nil || c.read("big") != nil {
		t.Errorf("one file takes most of the cache: %v", err)
	}
}

// TestCacheOfManyWriters reads whole images only.
func TestCacheOfManyWriters(t *testing.T) {
	c := &cache{folder: t.TempDir(), limit: 1 << 20}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			image := bytes.Repeat([]byte{byte(i)}, 5000)
			for range 30 {
				if err := c.write("k", image); err != nil {
					t.Error(err)
				}
				if got := c.read("k"); len(got) != 5000 || !bytes.Equal(got, bytes.Repeat(got[:1], 5000)) {
					t.Errorf("%d bytes, mixed", len(got))
				}
			}
		}()
	}
	wait.Wait()
	if files, err := filepath.Glob(filepath.Join(c.folder, "*")); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

func TestCacheFolder(t *testing.T) {
	t.Setenv("VOLLEY_CACHE", "off")
	off := openCache()
	if err := off.write("k", []byte("code")); err != nil || off.read("k") != nil {
		t.Errorf("a cache that is off keeps: %v", err)
	}
	folder := t.TempDir()
	t.Setenv("VOLLEY_CACHE", folder)
	if c := openCache(); c.folder != filepath.Join(folder, "opencl") {
		t.Errorf("the cache is in %s", c.folder)
	}
	t.Setenv("VOLLEY_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", folder)
	t.Setenv("LocalAppData", folder)
	t.Setenv("HOME", folder)
	if c := openCache(); filepath.Base(filepath.Dir(c.folder)) != "volley" {
		t.Errorf("the cache is in %s", c.folder)
	}
}
