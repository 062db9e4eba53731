package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// command is a command, or a group of commands.
type command struct {
	name  string // the last word, "" for the binary itself
	path  string // all words, "table show"; set by parse
	short string // one line, for the list that the command is in
	about string // what it does, in full
	// args are the names of the arguments it takes; known, if set, says what
	// they may be, for a command line that lacks them.
	args     []string
	known    func() string
	options  []option
	notes    []note
	examples []example
	// commands are those below it; run is nil if there are any.
	commands []*command
	run      func(ctx context.Context, e *env, args []string) error
}

// option is a flag: --name, or --name VALUE if value is not empty.
type option struct {
	name  string
	value string // stands for the value in help
	about string
	// set takes the value, "" for a flag without. The error says what is
	// wanted.
	set func(value string) error
}

// note is a section of help.
type note struct {
	title string
	lines []noteLine
}

type noteLine struct{ term, text string }

// example is a command line without the binary's name, and what it is for.
type example struct{ line, about string }

// invocation is a command line that was understood.
type invocation struct {
	command *command
	args    []string
	help    bool // help was asked for
}

// usageError reports a command line that cannot be understood.
type usageError struct {
	path string // of the command, whose help knows more
	text string
}

func (e *usageError) Error() string { return e.text }

// parse finds the command that args name, and hands it its options. Options may
// stand anywhere after their command, with one dash or two, as --name value or
// --name=value; after "--" everything is an argument.
func parse(root *command, args []string) (invocation, error) {
	p := parser{at: root}
	for len(args) > 0 && !p.help {
		var err error
		if args, err = p.step(args); err != nil {
			return invocation{}, err
		}
	}
	p.help = p.help || p.asked
	if !p.help && p.at.run != nil && len(p.found) != len(p.at.args) {
		return invocation{}, p.lacking()
	}
	return invocation{command: p.at, args: p.found, help: p.help}, nil
}

// lacking says which arguments a command needs, and what they may be.
func (p *parser) lacking() error {
	known := ""
	if p.at.known != nil {
		known = "; " + p.at.known()
	}
	return p.errorf("%s needs %s%s", p.at.path, strings.Join(p.at.args, " "), known)
}

type parser struct {
	at    *command
	found []string // arguments
	plain bool     // "--" was seen
	help  bool     // --help was seen, whatever follows
	asked bool     // the first word was "help": the rest says with what
}

// step takes one word, or an option with its value, off args.
func (p *parser) step(args []string) ([]string, error) {
	word, rest := args[0], args[1:]
	switch {
	case !p.plain && word == "--":
		p.plain = true
		return rest, nil
	case !p.plain && len(word) > 1 && word[0] == '-':
		return p.option(word, rest)
	case p.at.run == nil:
		return rest, p.command(word)
	case len(p.found) == len(p.at.args):
		return nil, p.errorf("unexpected argument %q", word)
	}
	p.found = append(p.found, word)
	return rest, nil
}

// command goes one level down.
func (p *parser) command(word string) error {
	if word == "help" && p.at.path == "" && !p.asked {
		p.asked = true
		return nil
	}
	var names []string
	for _, c := range p.at.commands {
		if c.name == word {
			c.path = strings.TrimSpace(p.at.path + " " + word)
			p.at = c
			return nil
		}
		names = append(names, c.name)
	}
	return p.errorf("unknown command %q%s", strings.TrimSpace(p.at.path+" "+word), didYouMean(word, names))
}

func (p *parser) option(word string, rest []string) ([]string, error) {
	name, value, inline := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
	if name == "h" || name == "help" {
		p.help = true
		return rest, nil
	}
	i := slices.IndexFunc(p.at.options, func(o option) bool { return o.name == name })
	if i < 0 {
		return nil, p.unknownOption(name)
	}
	o := p.at.options[i]
	switch {
	case o.value == "" && inline:
		return nil, p.errorf("--%s takes no value", name)
	case o.value != "" && !inline && (len(rest) == 0 || strings.HasPrefix(rest[0], "--")):
		return nil, p.errorf("--%s needs a value: --%s=%s", name, name, o.value)
	case o.value != "" && !inline:
		value, rest = rest[0], rest[1:]
	}
	if err := o.set(value); err != nil {
		return nil, p.errorf("--%s: %w", name, err)
	}
	return rest, nil
}

func (p *parser) unknownOption(name string) error {
	var names []string
	for _, o := range p.at.options {
		names = append(names, "--"+o.name)
	}
	if p.at.run == nil {
		return p.errorf("unknown flag --%s: flags other than --help follow a command", name)
	}
	return p.errorf("unknown flag --%s%s", name, didYouMean("--"+name, append(names, "--help")))
}

func (p *parser) errorf(format string, args ...any) error {
	return &usageError{path: p.at.path, text: fmt.Errorf(format, args...).Error()}
}
