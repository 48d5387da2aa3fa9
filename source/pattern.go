package source

import (
	"regexp"
	"strings"
)

// pattern is a line of an ignore file, gitignore(5). go-git's own patterns differ from git's: to them /a/** leaves out the file a
// too, and [!a] means nothing. A document that is left out by mistake is a machine that goes.
type pattern struct {
	negate  bool     // what it matches is not left out after all
	folders bool     // it matches folders only
	dir     []string // the folder of the ignore file
	parts   []part
}

// part is what one element of a path must be.
type part struct {
	any     bool // any number of elements
	literal string
	glob    *regexp.Regexp // in place of literal; of bytes, as git has it
	never   bool
}

// parsePattern reads a line that is neither empty nor a comment; ok is false when it says nothing.
func parsePattern(line string, dir []string) (p pattern, ok bool) {
	p.dir = dir
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	line, p.negate = strings.CutPrefix(line, "!")
	line, p.folders = strings.CutSuffix(line, "/")
	if line == "" {
		return p, false
	}
	anchored := strings.Contains(line, "/")
	if !anchored {
		p.parts = []part{{any: true}, parsePart(line)}
		return p, true
	}
	for _, s := range strings.Split(strings.TrimPrefix(line, "/"), "/") {
		if s == "**" {
			p.parts = append(p.parts, part{any: true})
		} else {
			p.parts = append(p.parts, parsePart(s))
		}
	}
	return p, true
}

// match says whether the file or folder named by the elements of path is what the pattern speaks of.
func (p pattern) match(path []string, isDir bool) bool {
	if p.folders && !isDir || len(path) <= len(p.dir) {
		return false
	}
	for n, d := range p.dir {
		if path[n] != d {
			return false
		}
	}
	path = path[len(p.dir):]
	// reached has the numbers of elements that the parts so far can have taken.
	reached := make([]bool, len(path)+1)
	reached[0] = true
	for n, part := range p.parts {
		next := make([]bool, len(path)+1)
		for at := range reached {
			switch {
			case !reached[at]:
			case part.any && n == len(p.parts)-1: // all that is in a folder, not the folder
				next[len(path)] = next[len(path)] || at < len(path)
			case part.any:
				for to := at; to <= len(path); to++ {
					next[to] = true
				}
			case at < len(path) && part.match(path[at]):
				next[at+1] = true
			}
		}
		reached = next
	}
	return reached[len(path)]
}

func (p part) match(name string) bool {
	switch {
	case p.never:
		return false
	case p.glob != nil:
		return p.glob.MatchString(byByte(name))
	}
	return name == p.literal
}

// byByte makes a character of each byte: a ? stands for one byte.
func byByte(s string) string {
	runes := make([]rune, len(s))
	for n := range len(s) {
		runes[n] = rune(s[n])
	}
	return string(runes)
}

// parsePart reads what stands between slashes: *, ?, [a-z], [!a-z], and \ before what is meant as it is. What is not closed
// matches nothing.
func parsePart(s string) part {
	if !strings.ContainsAny(s, `*?[\`) {
		return part{literal: s}
	}
	var re strings.Builder
	re.WriteString(`(?s)\A`)
	for n := 0; n < len(s); n++ {
		switch c := s[n]; c {
		case '*':
			re.WriteString(".*")
		case '?':
			re.WriteString(".")
		case '\\':
			if n++; n == len(s) {
				return part{never: true}
			}
			re.WriteString(literally(s[n]))
		case '[':
			class, end := parseClass(s, n)
			if end < 0 {
				return part{never: true}
			}
			re.WriteString(class)
			n = end
		default:
			re.WriteString(literally(c))
		}
	}
	compiled, err := regexp.Compile(re.String() + `\z`)
	if err != nil {
		return part{never: true} // a range that ends before it begins
	}
	return part{glob: compiled}
}

func literally(c byte) string { return regexp.QuoteMeta(string(rune(c))) }

// parseClass reads the bracket at from, and says where it ends; -1 when it does not.
func parseClass(s string, from int) (class string, end int) {
	var re strings.Builder
	re.WriteString("[")
	n := from + 1
	if n < len(s) && (s[n] == '!' || s[n] == '^') {
		re.WriteString("^")
		n++
	}
	for first := true; n < len(s); first = false {
		c := s[n]
		switch {
		case c == ']' && !first:
			return re.String() + "]", n
		case c == '[' && strings.HasPrefix(s[n:], "[:"):
			close := strings.Index(s[n:], ":]")
			if close < 0 {
				return "", -1
			}
			re.WriteString(s[n : n+close+2])
			n += close + 2
			continue
		case c == '\\':
			if n++; n == len(s) {
				return "", -1
			}
			c = s[n]
		}
		n++
		re.WriteString(inClass(c))
		if n+1 < len(s) && s[n] == '-' && s[n+1] != ']' {
			n++
			to := s[n]
			if to == '\\' {
				if n++; n == len(s) {
					return "", -1
				}
				to = s[n]
			}
			re.WriteString("-" + inClass(to))
			n++
		}
	}
	return "", -1
}

// inClass is a byte within brackets.
func inClass(c byte) string {
	if strings.IndexByte(`\]^-[&~|`, c) >= 0 {
		return `\` + string(rune(c))
	}
	return string(rune(c))
}
