// Package unicode has names in other alphabets and words in comments that must
// stay comments.
package unicode

import (
	"iter"

	tws "github.com/tws-go/tws/runtime"
)

// Été is a row with names of all sorts.
type Été struct {
	Größe  int64  `json:"größe"`
	Имя    string `json:"имя"`
	X世界    bool
	Quoted string `json:"a b/c<d>"`
	Émoji  string `json:"🙂"`
	lower  int    `tws:"-"`
}

// Äpfel counts. Its comment ends a comment: */ and begins one /* and has
// a line that begins with two slashes.
type Äpfel struct {
	tws.Processor[string, Été, Été] `tws:"apples"`

	// Zähler holds */ func main() {} /* and
	//
	Zähler tws.ValueState[Été] `tws:"counter"`
	// 世界 has no capital.
	世界 tws.MapState[string, int64] `tws:"world,ttl=15m"`
}

// HandleInputRows keeps the last row and counts.
func (ä *Äpfel) HandleInputRows(_ *tws.InputContext, _ string, rows iter.Seq[Été], _ tws.Emitter[Été]) error {
	for row := range rows {
		row.lower = 1
		if err := ä.Zähler.Update(row); err != nil {
			return err
		}
		n, _, err := ä.世界.Get(row.Имя)
		if err != nil {
			return err
		}
		if err := ä.世界.Update(row.Имя, n+int64(row.lower)); err != nil {
			return err
		}
	}
	return nil
}
