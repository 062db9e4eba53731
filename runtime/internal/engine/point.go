package engine

// Point names a moment in the commit order, before or after a durable step.
// Tests stop the engine there and check that nothing is lost or doubled.
type Point string

// The points, in the order an epoch passes them.
const (
	BeforeJournal    Point = "before-journal"
	AfterJournal     Point = "after-journal"
	BeforePlan       Point = "before-plan"
	AfterPlan        Point = "after-plan"
	BeforeChangelogs Point = "before-changelogs"
	AfterChangelogs  Point = "after-changelogs"
	BeforeStage      Point = "before-stage"
	AfterStage       Point = "after-stage"
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
)

// Points lists all points in order.
func Points() []Point {
	return []Point{
		BeforeJournal, AfterJournal, BeforePlan, AfterPlan,
		BeforeChangelogs, AfterChangelogs, BeforeStage, AfterStage,
		BeforeDecide, AfterDecide, BeforePublish, AfterPublish,
		BeforeApply, AfterApply, BeforeSnapshot, AfterSnapshot,
		BeforeRetain, AfterRetain,
	}
}
