// Package base holds types that others embed.
package base

// Entity is embedded in rows and states.
type Entity struct {
	ID   int64 `json:"id"`
	Kind Kind  `json:"kind"`
}

// Kind is a number of its own.
type Kind uint8
