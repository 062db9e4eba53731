package diag

import (
	"slices"
	"strings"
)

// Code is the permanent name of a kind of fault. Codes are never reused.
type Code string

// The codes, grouped by what they are about.
const (
	Syntax         Code = "TWS001"
	Undefined      Code = "TWS002"
	TestFile       Code = "TWS003"
	Predeclared    Code = "TWS004"
	Collision      Code = "TWS005"
	Constraint     Code = "TWS006"
	Foreign        Code = "TWS007"
	TagSyntax      Code = "TWS010"
	UnknownOption  Code = "TWS011"
	OptionValue    Code = "TWS012"
	Name           Code = "TWS013"
	DuplicateName  Code = "TWS014"
	Repeated       Code = "TWS015"
	StrayTag       Code = "TWS016"
	BadDirective   Code = "TWS020"
	Misplaced      Code = "TWS021"
	WrongDecl      Code = "TWS022"
	StrayState     Code = "TWS030"
	ProcessorForm  Code = "TWS031"
	HandlerMissing Code = "TWS032"
	HandlerForm    Code = "TWS033"
	HandlerName    Code = "TWS034"
	ValueReceiver  Code = "TWS035"
	TTLMode        Code = "TWS036"
	TimerMode      Code = "TWS037"
	TimerHandler   Code = "TWS038"
	Unsupported    Code = "TWS040"
	Recursive      Code = "TWS041"
	Unexported     Code = "TWS042"
	KeyType        Code = "TWS043"
	WireName       Code = "TWS044"
	Embedded       Code = "TWS045"
	RowType        Code = "TWS046"
	CustomCodec    Code = "TWS047"
	TooLarge       Code = "TWS048"
	Target         Code = "TWS050"
	FlowForm       Code = "TWS051"
	FlowRow        Code = "TWS052"
	Once           Code = "TWS053"
	LockDamaged    Code = "TWS060"
	LockEdited     Code = "TWS061"
	LockNewer      Code = "TWS062"
	Removed        Code = "TWS063"
	Changed        Code = "TWS064"
	StateStruct    Code = "TWS065"
)

// Entry explains a code: what "tws-gen explain" prints and the reference lists.
type Entry struct {
	Code  Code
	Title string
	// Text is one or more paragraphs, separated by blank lines.
	Text string
}

// Catalogue returns all entries in order of code.
func Catalogue() []Entry { return slices.Clone(catalogue) }

// Explain returns the entry of a code; upper and lower case are the same.
func Explain(code string) (Entry, bool) {
	i := slices.IndexFunc(catalogue, func(e Entry) bool { return strings.EqualFold(string(e.Code), code) })
	if i < 0 {
		return Entry{}, false
	}
	return catalogue[i], true
}

var catalogue = []Entry{
	{Syntax, "the package does not parse", `
The Go parser could not read a file of the package. Nothing is generated and no
file is touched until the package parses. All parser errors are listed. Errors
in types and function bodies do not matter to the generator: only syntax does.`},
	{Undefined, "undefined type in an annotated declaration", `
A processor, state, row, table, sink or flow names a type that does not exist,
or that could not be loaded because its package does not resolve. Undefined
names inside function bodies are no error: code may use what the first
generation is going to declare.`},
	{TestFile, "annotation in a test file", `
Generated code is part of the package proper, so that it cannot refer to what a
_test.go file declares. Move the declaration to a file without the _test
suffix. Tests that bind a processor by hand (it has a method BindTWS) are left
alone.`},
	{Predeclared, "predeclared identifier redeclared", `
The package declares a name such as string, len or nil at package level. In
generated code the name would mean the package's declaration instead of Go's.`},
	{Collision, "name is needed by generated code", `
Some generated names are fixed: the function Register of a package with tables,
sinks or flows, the method BindTWS of processors, and the method TWSRow of row
types. A declaration of the package has such a name already; or two state fields
lead to the same accessor type, as Foo.BarX and FooBar.X both lead to fooBarX.
All other generated names give way to the package's own.`},
	{Constraint, "annotated files have different build constraints", `
One file is generated for the package, and it carries the build constraint of
the files that it belongs to: //go:build lines, GOOS and GOARCH in file names,
cgo. If those differ there is a configuration in which the generated file does
not compile.`},
	{Foreign, "a file that is not generated has the generated file's name", `
The output is named after the package, as in heartbeat_tws.go. A file of that
name exists but does not begin with the generator's header, so it is not
overwritten.`},
	{TagSyntax, "malformed tag", `
A struct tag is a list of key:"value" pairs separated by single spaces. Inside
the tws value comes the name, then options, separated by commas, without
spaces: ` + "`tws:\"recent,ttl=1h\"`" + `.`},
	{UnknownOption, "unknown option", `
The option does not exist, or not here. A processor takes time and output, a
value, list or map state takes ttl, a timer takes none. Directives: table and
sink take name; flow takes target, name and once.`},
	{OptionValue, "invalid option value", `
time is none, processing or event; event needs WithWatermark in the flow.
output is append or update. ttl is a duration above zero in whole microseconds
with a unit (ttl=90s, ttl=1h30m, ttl=24h); for no time to live leave the option
out.`},
	{Name, "invalid name", `
Names of processors, states, timers, tables, sinks and flows are letters,
digits, _ and -, begin with a letter, and are at most 255 bytes long: they
become parts of file names and of command lines.`},
	{DuplicateName, "duplicate name", `
Two states or timers of a processor, two processors, two tables or sinks, or
two flows have the same name, or names that differ in case only. A table that
is declared by a function has a flow of the same name.`},
	{Repeated, "given twice", `
An option, a tws key in a tag, or a directive stands there twice, or a
declaration carries two directives that exclude each other. Only one of them
could take effect.`},
	{StrayTag, "tws tag on a field that takes none", `
Tags of processor structs belong on the embedded tws.Processor and on fields of
type tws.ValueState, tws.ListState, tws.MapState and tws.Timer. Every other
field of a processor is the user's own configuration, which is never stored. In
row and state structs the tag names a field on the wire and takes no options.`},
	{BadDirective, "unknown or malformed directive", `
The directives are //tws:table, //tws:sink and //tws:flow, written without a
space after // and in lower case. Arguments are key=value or a single word,
separated by spaces; a value with spaces is quoted: name="a b" (but see TWS013).`},
	{Misplaced, "directive is not attached to a declaration", `
A directive is the last part of the doc comment of the declaration that it is
about, with no blank line in between. It has no effect behind a declaration,
above a parenthesised group, inside a function or on a type.`},
	{WrongDecl, "directive on the wrong kind of declaration", `
//tws:table belongs on a variable of type tws.StreamingTable[T], or on a
function func(*tws.Flow) tws.Stream[T], which declares the table together with
its flow. //tws:sink belongs on a variable of type *tws.Sink[T]. //tws:flow
belongs on a function.`},
	{StrayState, "state outside a processor", `
tws.ValueState, tws.ListState, tws.MapState and tws.Timer are bound by the
engine when they are named fields of a processor struct, directly: not behind a
pointer, in a slice, array, map or channel, not embedded, not in another
struct, not in a variable. Anywhere else they would stay nil.`},
	{ProcessorForm, "malformed processor", `
A processor is a struct type, declared at package level by name and without
type parameters, that embeds tws.Processor[K, In, Out] once, by value. A type
declared over a processor, or a struct that embeds one, would lose the
generated binding.`},
	{HandlerMissing, "HandleInputRows is missing", `
Every processor handles its input with a method HandleInputRows on its pointer
type.`},
	{HandlerForm, "handler has the wrong signature", `
A method with a handler's name must have exactly the handler's type for the
processor's K, In and Out, or the engine would call the default instead of it.`},
	{HandlerName, "method looks like a misspelt handler", `
The method's name is nearly that of a handler, but not quite: the engine would
never call it.`},
	{ValueReceiver, "handler has a value receiver", `
The generated binding puts the state accessors into the processor through its
pointer. With a value receiver the handler works on a copy.`},
	{TTLMode, "TTL outside processing time", `
A time to live is measured on the processing-time clock. It needs
time=processing, which is the default.`},
	{TimerMode, "timer without a clock", `
With time=none there is no clock on which a timer could expire.`},
	{TimerHandler, "timer without handler", `
A processor that declares a timer needs the method HandleExpiredTimer: it is
what the engine calls when the timer expires.`},
	{Unsupported, "unsupported type", `
State and rows can hold bool, integers, floats, string, []byte, time.Time,
time.Duration, slices of these, structs of exported fields, types defined over
these, and pointers to scalars and structs for values that may be absent. Maps,
arrays, interfaces, functions, channels, complex numbers, unsafe.Pointer,
uintptr, anonymous structs, pointers to pointers or slices, and types with
locks in them have no schema. A map usually becomes a tws.MapState or a slice
of key/value structs, an array a slice, an interface a concrete type.`},
	{Recursive, "recursive type", `
A type that contains itself, also through pointers and slices, has no finite
schema. Neither has an instance of a generic type that contains another one with
ever longer type arguments, as in type T[X any] struct { Next *T[*X] }. Keep
ids instead of pointers, or flatten the tree into a list.`},
	{Unexported, "unexported field", `
A field that starts with a lower-case letter would silently not be stored.
Export it, or say that it is not meant to be stored with ` + "`tws:\"-\"`" + `.
Structs of other packages must have exported fields only.`},
	{KeyType, "type cannot be a key", `
Keys are compared by their bytes, so that equal keys must have equal bytes:
bool, integers, string, time.Time, time.Duration, types defined over these, and
non-empty structs of these that leave no field out. Floats have NaN and -0,
pointers and slices are not comparable by value.`},
	{WireName, "invalid or duplicate field name on the wire", `
A field's name on the wire is that of its tws tag, else of its json tag, else
its Go name. Within a struct it must be unique, and among the columns of a
table row it must differ in more than case. It is not empty, holds neither
control characters, quotes nor backslashes, and is at most 255 bytes long.`},
	{Embedded, "embedded struct in a row without a name", `
encoding/json would flatten the embedded struct's fields into the row, while
generated codecs encode it as one field. Say which name the field has: name the
field, or give it a json or tws tag.`},
	{RowType, "row type is not a named struct", `
A row has named columns, so it is a struct type declared at package level. For
a single value declare a struct with one field.`},
	{CustomCodec, "custom JSON methods are not called", `
The type has methods that encoding/json would call (MarshalJSON, UnmarshalJSON,
MarshalText or UnmarshalText). Generated codecs never call them, so that rows
would look different than the type intends.`},
	{TooLarge, "type is too large", `
A schema is data and is stored with the state, and every column of a table is
a column of its files. So a struct has at most 10,000 fields, those of nested
structs counted at every place where they occur, structs and lists lie at most
100 deep within each other, and a type is spelled with at most 1,000 others as
type arguments. Structs that hold the next one twice double the fields with
each level. Keep an id instead of the nested value, or use a list.`},
	{Target, "unknown flow target", `
The target of a flow is the Go identifier of a variable in the same package
that has a //tws:table or //tws:sink directive.`},
	{FlowForm, "flow has the wrong signature", `
A flow is a function func(*tws.Flow) tws.Stream[T]; a once flow is a function
func(*tws.Flow) tws.Bounded[T]. It is neither a method nor generic.`},
	{FlowRow, "flow and target have different row types", `
The rows a flow returns go into its target unchanged.`},
	{Once, "once does not fit the flow", `
A once flow ends, so it returns tws.Bounded[T]; every other flow goes on and
returns tws.Stream[T].`},
	{LockDamaged, "lock file cannot be read", `
tws.lock.json in the package's folder holds the ids that state was written
with. It is damaged, holds merge conflict markers, or contradicts itself, and
is never overwritten then. Restore it from version control. In a conflict take
one side whole and run the generator again.`},
	{LockEdited, "lock file was edited", `
The checksum at the end of tws.lock.json does not match its content. Ids that
change behind the back of stored state make its bytes mean something else.`},
	{LockNewer, "lock file has a newer format", `
tws.lock.json was written by a newer tws-gen than this one.`},
	{Removed, "stored declaration is gone", `
A processor, state or timer that the lock file knows is not declared any more,
or under another name. State that was written for it would be lost. If the
declaration is in a file with a build tag, nothing is gone: pass the tag with
-tags. Removing and renaming will come with schema evolution; until then restore
the declaration, or delete tws.lock.json and start with a fresh checkpoint and
fresh tables and topics (or other names): all output is written again, with a
fresh checkpoint alone into the tables and topics that have it already.`},
	{Changed, "type of stored state changed", `
A processor's key type, or the kind or type of a state, differs from that in the
lock file: the bytes that are stored could not be read. Restore the type,
declare a new state beside the old one, or delete tws.lock.json and start with a
fresh checkpoint and fresh tables and topics (or other names).`},
	{StateStruct, "struct used in stored state changed", `
A struct that is part of a state or key has another set of fields than the lock
file says. Fields may be reordered and Go names changed as long as the names on
the wire stay. Structs that are used in rows only may change freely, as far as
the lock is concerned; a table that exists refuses other columns for now.
Restore the field, declare a new state beside the old one with a new type, or
delete tws.lock.json and start with a fresh checkpoint and fresh tables and topics
(or other names).`},
}
