package codec

// The first bytes of msgpack values that are not a range of their own.
const (
	msgNil      = 0xc0
	msgFalse    = 0xc2
	msgTrue     = 0xc3
	msgBin8     = 0xc4
	msgBin32    = 0xc6
	msgExt8     = 0xc7
	msgExt32    = 0xc9
	msgFloat32  = 0xca
	msgFloat64  = 0xcb
	msgUint8    = 0xcc
	msgUint16   = 0xcd
	msgUint32   = 0xce
	msgUint64   = 0xcf
	msgInt8     = 0xd0
	msgInt16    = 0xd1
	msgInt32    = 0xd2
	msgInt64    = 0xd3
	msgFixExt1  = 0xd4
	msgFixExt4  = 0xd6
	msgFixExt8  = 0xd7
	msgFixExt16 = 0xd8
	msgStr8     = 0xd9
	msgStr32    = 0xdb
	msgArray16  = 0xdc
	msgArray32  = 0xdd
	msgMap16    = 0xde
	msgMap32    = 0xdf
)

// The first bytes of msgpack values that hold a small number themselves.
const (
	msgFixIntMax = 0x7f // 0x00 to 0x7f: the number itself
	msgFixMap    = 0x80 // 0x80 to 0x8f
	msgFixArray  = 0x90 // 0x90 to 0x9f
	msgFixStr    = 0xa0 // 0xa0 to 0xbf
	msgNegFixInt = 0xe0 // 0xe0 to 0xff: the number itself, as an int8
)

// msgTimeType is the extension type of an instant: -1.
const msgTimeType = 0xff

// msgKind names the family of the value that starts with c, for errors.
func msgKind(c byte) string {
	switch {
	case isMsgInt(c):
		return "int"
	case isMsgStr(c):
		return "string"
	case isMsgArray(c):
		return "array"
	case isMsgMap(c):
		return "map"
	case isMsgBin(c):
		return "bytes"
	case isMsgExt(c):
		return "ext"
	case c == msgNil:
		return "nil"
	case c == msgFalse || c == msgTrue:
		return "bool"
	case c == msgFloat32 || c == msgFloat64:
		return "float"
	}
	return "the invalid byte 0xc1"
}

func isMsgInt(c byte) bool {
	return c <= msgFixIntMax || c >= msgNegFixInt || c >= msgUint8 && c <= msgInt64
}

func isMsgStr(c byte) bool {
	return c >= msgFixStr && c < msgNil || c >= msgStr8 && c <= msgStr32
}

func isMsgArray(c byte) bool {
	return c >= msgFixArray && c < msgFixStr || c == msgArray16 || c == msgArray32
}

func isMsgMap(c byte) bool {
	return c >= msgFixMap && c < msgFixArray || c == msgMap16 || c == msgMap32
}

func isMsgBin(c byte) bool { return c >= msgBin8 && c <= msgBin32 }

func isMsgExt(c byte) bool {
	return c >= msgExt8 && c <= msgExt32 || c >= msgFixExt1 && c <= msgFixExt16
}
