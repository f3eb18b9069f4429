package report

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestPageIsSelfContained(t *testing.T) {
	var b bytes.Buffer
	if err := samplePage().WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("VOLLEY_TEST_KEEP"); dir != "" { // for a look by eye
		if err := os.WriteFile(filepath.Join(dir, "page.html"), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	page := b.String()
	if !strings.Contains(page, echartsScript) {
		t.Fatal("the echarts script is not in the page as it is")
	}
	// Outside that script, whose namespaces and comments have addresses that
	// are never fetched, the page has no address at all.
	rest := strings.Replace(page, echartsScript, "", 1)
	if m := regexp.MustCompile(`(?i)https?:|//[a-z0-9-]+\.[a-z]|\bsrc\s*=|\bhref\s*=|@import|url\(|fetch\(|XMLHttpRequest|import\(`).FindString(rest); m != "" {
		t.Errorf("the page has %q", m)
	}
	for _, m := range []string{`<link`, `@import`, `importScripts`, "fetch(", "WebSocket("} {
		if strings.Contains(echartsScript, m) {
			t.Errorf("the script has %q", m)
		}
	}
	for _, want := range []string{
		"default-src &#39;none&#39;", "Example CPU &lt;2&gt;", "query: compute", "group_by", "12.3 ms",
		"16.142857142857142", "1,000,000", "21.5 GB/s", `"median_s":`, "Times are medians", "right",
	} {
		if !strings.Contains(rest, want) && !strings.Contains(rest, strings.ReplaceAll(want, "&#39;", "'")) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestPageEscapes(t *testing.T) {
	p := samplePage()
	evil := `</script><script>alert(1)</script><img onerror=x>`
	p.Records[0].Device, p.Records[0].Op, p.Title = evil, evil, evil
	p.Records[1].OK = Of(false)
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "<script>alert") || strings.Contains(b.String(), "<img onerror") {
		t.Error("text of a record became part of the page's code")
	}
	if !strings.Contains(b.String(), "Wrong answers: flights/query: read reference on cpu") {
		t.Error("the wrong answer is not named")
	}
}

func TestPageRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Page){
		"a record without a suite": func(p *Page) { p.Records[0].Suite = "" },
		"an answer without JSON":   func(p *Page) { p.Answers[0].Value = func() {} },
	} {
		p := samplePage()
		spoil(p)
		var b bytes.Buffer
		if err := p.WriteHTML(&b); err == nil || b.Len() > 0 {
			t.Errorf("%s: error %v after %d bytes", name, err, b.Len())
		}
	}
}
