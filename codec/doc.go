// Package codec turns Go values into bytes and back. Generated code calls it
// once per field; it holds no reflection, no registry and no unsafe code.
//
// It has four parts, each an append half and a reading half:
//
//   - msgpack: the bodies of stored values and of rows. [AppendInt],
//     [AppendString] and the like; [Reader].
//   - the value header: flags, expiry and schema version in front of a stored
//     body. [AppendHeader], [ReadHeader].
//   - keys: an encoding whose byte order is the order of the values.
//     [AppendKeyInt64], [AppendKeyString] and the like; [KeyReader].
//   - JSON: strict and exact, for rows that come from or go to the outside.
//     [AppendJSONString] and the like; [JSONReader].
//
// # Appending
//
// Appenders have the shape of the append builtin: they take dst, return the
// extended slice, and allocate only when dst has no room. A value has exactly
// one encoding, the shortest, so equal values give equal bytes. What no encoding
// can hold is an error where data can cause it (a NaN in JSON), and a panic
// where only a bug can (a negative length).
//
// # Reading
//
// The readers walk a byte slice and have a sticky error: after the first one
// every method returns a zero value, so a decoder may read all its fields and
// ask Err or Done once. Methods that steer a loop or a recursion end it after
// an error: List returns no elements, Nil and Null return true, NextField and
// NextElem return false. Readers are reused with Reset and are not safe for
// concurrent use; what they return never aliases the input, except
// [JSONReader.Name].
//
// # Invariants
//
//   - Reading never panics, whatever the input.
//   - A length found in the input is compared with the bytes that are left
//     before anything is allocated by it, and nesting is limited to 256 levels.
//   - Nothing is narrowed in silence: a number that does not fit the wanted type
//     exactly is an error with the number, the type, the path and the offset.
//   - Instants are UTC when read, whatever the zone of writer or reader.
//   - A decoder accepts the whole input or none of it: Done and End refuse what
//     is left over.
//
// The bytes are part of the stored format: docs/internals/codec.md specifies
// them and golden/codec pins them.
package codec

// maxDepth is the deepest nesting that any reader follows.
const maxDepth = 256

// pathLevels is how many levels an error path names; deeper ones are elided, so
// that a reader stays small enough to live on the stack.
const pathLevels = 32
