package epoch

// Point names a moment in the commit order, before or after a durable step.
// Tests stop the engine there and check that nothing is lost or doubled.
type Point string

// The points, in the order an epoch passes them.
const (
	BeforeMeta       Point = "before-meta" // a flow's first start, or a changed schema
	AfterMeta        Point = "after-meta"
	BeforeJournal    Point = "before-journal"
	AfterJournal     Point = "after-journal"
	BeforeEnds       Point = "before-ends" // an available-now run begins
	AfterEnds        Point = "after-ends"
	BeforePlan       Point = "before-plan"
	AfterPlan        Point = "after-plan"
	BeforeAttempt    Point = "before-attempt" // durable from the second one on
	AfterAttempt     Point = "after-attempt"
	BeforeChangelogs Point = "before-changelogs"
	AfterChangelogs  Point = "after-changelogs"
	BeforeStage      Point = "before-stage"
	AfterStage       Point = "after-stage"
	BeforePrepared   Point = "before-prepared" // these six if the sink decides
	AfterPrepared    Point = "after-prepared"
	BeforeDeliver    Point = "before-deliver"
	AfterDeliver     Point = "after-deliver"
	BeforeCommit     Point = "before-commit"
	AfterCommit      Point = "after-commit"
	BeforeDecide     Point = "before-decide"
	AfterDecide      Point = "after-decide"
	BeforePublish    Point = "before-publish"
	AfterPublish     Point = "after-publish"
	BeforeApply      Point = "before-apply"
	AfterApply       Point = "after-apply"
	BeforeSnapshot   Point = "before-snapshot"
	AfterSnapshot    Point = "after-snapshot"
	BeforeRetain     Point = "before-retain"
	AfterRetain      Point = "after-retain"
	BeforeDropEnds   Point = "before-drop-ends" // an available-now run is done
	AfterDropEnds    Point = "after-drop-ends"
)

// The points of a start at which a sink that decides has lost its record of the flow
// and somebody has chosen how to go on. If an epoch is taken as committed,
// BeforeDecide and AfterDecide come between them.
const (
	BeforeChoice     Point = "before-choice"
	AfterChoice      Point = "after-choice"
	BeforeDropChoice Point = "before-drop-choice" // the sink has a record again
	AfterDropChoice  Point = "after-drop-choice"
)

// DecidingPoints lists the points that only an epoch passes whose sink decides it,
// in order. They come between AfterStage and BeforeDecide.
func DecidingPoints() []Point {
	return []Point{BeforePrepared, AfterPrepared, BeforeDeliver, AfterDeliver, BeforeCommit, AfterCommit}
}

// Points lists the points that every epoch may pass, in order.
func Points() []Point {
	return []Point{
		BeforeMeta, AfterMeta,
		BeforeJournal, AfterJournal, BeforeEnds, AfterEnds, BeforePlan, AfterPlan,
		BeforeAttempt, AfterAttempt,
		BeforeChangelogs, AfterChangelogs, BeforeStage, AfterStage,
		BeforeDecide, AfterDecide, BeforePublish, AfterPublish,
		BeforeApply, AfterApply, BeforeSnapshot, AfterSnapshot,
		BeforeRetain, AfterRetain, BeforeDropEnds, AfterDropEnds,
	}
}
