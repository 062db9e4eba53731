package app

import "testing"

// A malformed line stops the run with its place. Once it is corrected, whatever
// becomes of its length, the next run goes on, and every row is there once.
func TestCorrectedLine(t *testing.T) {
	t.Parallel()
	for name, corrected := range map[string]string{
		"longer":  `{"id":2,"name":"a name that is longer than what stood there"}`,
		"shorter": `{"id":2,"name":""}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLine(t)
			before, after := `{"id":1,"name":"x"}`+"\n", "\n"+`{"id":3,"name":"y"}`+"\n"
			l.write("a.jsonl", before+`{"id":"two","name":"seven"}`+after)
			for range 2 {
				l.do(copyToTable, exitFailed, l.args()...)
				l.wantErr("a.jsonl:2: malformed row")
			}
			l.write("a.jsonl", before+corrected+after)
			l.do(copyToTable, exitDone, l.args()...)
			l.wantRows("copies", []int64{1, 2, 3})
		})
	}
}
