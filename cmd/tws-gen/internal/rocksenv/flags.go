package rocksenv

import (
	"fmt"
	"slices"
	"strings"
)

const flagSpace = " \t\n\r"

// splitFlags splits a flag list as the Go tool does: at white space, except that
// a field which begins with a quote runs to the next such quote. Nothing is
// unescaped.
func splitFlags(s string) ([]string, error) {
	var fields []string
	for {
		s = strings.TrimLeft(s, flagSpace)
		if s == "" {
			return fields, nil
		}
		if quote := s[:1]; quote == "'" || quote == `"` {
			field, rest, ok := strings.Cut(s[1:], quote)
			if !ok {
				return nil, fmt.Errorf("unterminated %s in %q", quote, s)
			}
			fields, s = append(fields, field), rest
			continue
		}
		end := strings.IndexAny(s, flagSpace)
		if end < 0 {
			end = len(s)
		}
		fields, s = append(fields, s[:end]), s[end:]
	}
}

// joinFlags is the inverse of splitFlags. A field with a dollar sign is quoted
// too, for shells and build tools that expand the value once more.
func joinFlags(fields []string) (string, error) {
	quoted := make([]string, len(fields))
	for i, f := range fields {
		switch {
		case f != "" && !strings.ContainsAny(f, flagSpace+`'"$`):
			quoted[i] = f
		case !strings.Contains(f, "'"):
			quoted[i] = "'" + f + "'"
		case !strings.Contains(f, `"`):
			quoted[i] = `"` + f + `"`
		default:
			return "", fmt.Errorf("flag %q has both kinds of quotes, which the go tool cannot read", f)
		}
	}
	return strings.Join(quoted, " "), nil
}

// addTag adds the build tag to a list of go flags. The last -tags wins for the
// go tool, so its value is the one extended; earlier ones had no effect.
func addTag(flags []string) []string {
	var out, tags []string
	for _, f := range flags {
		name, value, _ := strings.Cut(strings.TrimPrefix(f, "-"), "=")
		if strings.TrimPrefix(name, "-") != "tags" {
			out = append(out, f)
			continue
		}
		// The go tool takes commas, or spaces as it once did.
		tags = strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(","+flagSpace, r) })
	}
	if !slices.Contains(tags, noLinkTag) {
		tags = append(tags, noLinkTag)
	}
	return append(out, "-tags="+strings.Join(tags, ","))
}
