// Package foreign uses types of other packages, two of them of one name.
package foreign

import (
	"iter"

	xmodel "github.com/tws-go/tws/golden/gen/foreign/x/model"
	ymodel "github.com/tws-go/tws/golden/gen/foreign/y/model"
	"github.com/tws-go/tws/golden/gen/heartbeat"
	tws "github.com/tws-go/tws/runtime"
)

// model is no package here.
type model struct {
	X xmodel.Reading
	Y ymodel.Reading
}

// Foreign joins them.
type Foreign struct {
	tws.Processor[ymodel.Place, xmodel.Reading, ymodel.Reading] `tws:"foreign"`

	Model  tws.ValueState[model]
	Places tws.MapState[ymodel.Place, []xmodel.Place]
	Alerts tws.ListState[heartbeat.Alert]
}

// HandleInputRows keeps the last row.
func (f *Foreign) HandleInputRows(_ *tws.InputContext, _ ymodel.Place, rows iter.Seq[xmodel.Reading], _ tws.Emitter[ymodel.Reading]) error {
	for row := range rows {
		if err := f.Model.Update(model{X: row}); err != nil {
			return err
		}
	}
	return nil
}

// Echo takes rows that carry generated code of their own.
type Echo struct {
	tws.Processor[string, heartbeat.Reading, heartbeat.Alert] `tws:"echo,time=none"`
}

// HandleInputRows does nothing.
func (*Echo) HandleInputRows(*tws.InputContext, string, iter.Seq[heartbeat.Reading], tws.Emitter[heartbeat.Alert]) error {
	return nil
}

// Readings is a table of rows of somebody else.
//
//tws:table name=y_readings
var Readings tws.StreamingTable[ymodel.Reading]
