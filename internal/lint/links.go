package lint

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// link is a link or picture in Markdown, and a picture's source in HTML.
var link = regexp.MustCompile(`\]\(([^()\s]+)\)|(?:src|srcset|href)="([^"]+)"`)

// checkLinks finds relative links of texts to files, or to headings, that are not there.
func checkLinks(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.Files {
		if path.Ext(f.Path) != ".md" {
			continue
		}
		fenced := false
		for i, line := range strings.Split(string(f.Source), "\n") {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			if fenced {
				continue
			}
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if text := t.deadLink(f, m[1]+m[2]); text != "" {
					found = append(found, Finding{f.Path, i + 1, text})
				}
			}
		}
	}
	return found
}

// deadLink says what is wrong with a link of a text, or "".
func (t *Tree) deadLink(f *File, target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return fmt.Sprintf("link to %s: %v", target, err)
	}
	if u.Scheme != "" || u.Host != "" {
		return ""
	}
	to := f.Path
	if u.Path != "" {
		to = path.Join(path.Dir(f.Path), u.Path)
		if !t.exists(to) {
			return fmt.Sprintf("link to %s: there is no %s", target, to)
		}
	}
	if u.Fragment == "" {
		return ""
	}
	page := t.File(to)
	if page == nil || path.Ext(to) != ".md" {
		return fmt.Sprintf("link to %s: %s has no headings", target, to)
	}
	for _, h := range headings(string(page.Source)) {
		if h == u.Fragment {
			return ""
		}
	}
	return fmt.Sprintf("link to %s: %s has no such heading", target, to)
}

// headings are the names by which links reach the headings of a text: small letters, digits, hyphens for spaces.
func headings(text string) []string {
	var names []string
	fenced := false
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		title := strings.TrimLeft(line, "#")
		if fenced || title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		var name strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(title)) {
			switch {
			case r == ' ':
				name.WriteRune('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				name.WriteRune(r)
			}
		}
		names = append(names, name.String())
	}
	return names
}
