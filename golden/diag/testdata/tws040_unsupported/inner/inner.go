// Package inner has a type that other packages cannot name.
package inner

// Visible is exported, its field's type is not.
type Visible struct{ H hidden }

type hidden struct{ X int64 }
