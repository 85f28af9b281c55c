package main

import (
	"slices"

	"github.com/fatkit/fatkit/pkg/vol"
)

// What may be said of a volume that was checked.
const (
	verdictClean       = "clean"
	verdictCorrected   = "corrected"
	verdictUncorrected = "uncorrected"
	verdictUnreadable  = "unreadable"
	verdictSkipped     = "skipped"
)

// checkDoc is what a check found in an image. It is what --json prints.
type checkDoc struct {
	Schema  string       `json:"schema"`
	Image   string       `json:"image"`
	Exit    int          `json:"exit"`
	DryRun  bool         `json:"dry_run,omitempty"`
	Writes  []byteRange  `json:"writes,omitempty"` // with --dry-run: what would be written
	Table   *tableDoc    `json:"table,omitempty"`  // of a whole disk
	Volumes []*volumeDoc `json:"volumes"`

	mode checkMode
}

// volumeDoc is one volume in it.
type volumeDoc struct {
	volumeHead
	Verdict  string       `json:"verdict"`
	Reason   string       `json:"reason,omitempty"` // why it is skipped, unreadable, or its repairs are not written
	Findings []findingDoc `json:"findings"`
	Stopped  bool         `json:"stopped,omitempty"` // the check could not go on to its end: what stats count is not all
	Stats    *statsDoc    `json:"stats,omitempty"`

	info     vol.Info
	failOn   vol.Severity
	unproven bool
}

// findingDoc is one finding. Offsets are bytes from the start of the image.
type findingDoc struct {
	Code     string `json:"code"`
	Slug     string `json:"slug"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	// Partition is the one that a finding of a partition table is about.
	Partition int `json:"partition,omitempty"`
	locationDoc
	Related     []locationDoc `json:"related,omitempty"`
	Repairs     []repairDoc   `json:"repairs"`
	Repaired    string        `json:"repaired"`
	WouldRepair string        `json:"would_repair,omitempty"` // with --dry-run

	severity vol.Severity
	mendable bool // a repair could be carried out
	wanted   bool // lost clusters that continue a file, which a repair can give them to
}

type locationDoc struct {
	Path    string `json:"path,omitempty"`
	Bytes   []byte `json:"path_bytes,omitempty"` // as pathDoc has it
	Cluster uint32 `json:"cluster,omitempty"`
	Offset  *int64 `json:"offset,omitempty"`
	Length  int64  `json:"length,omitempty"`
}

type repairDoc struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Loss  string `json:"loss"`
}

type statsDoc struct {
	Files           uint64  `json:"files"`
	Directories     uint64  `json:"directories"`
	Clusters        uint64  `json:"clusters"`
	UsedClusters    uint64  `json:"used_clusters"`
	FreeClusters    uint64  `json:"free_clusters"`
	BadClusters     uint64  `json:"bad_clusters"`
	FragmentedFiles uint64  `json:"fragmented_files"`
	BytesRead       int64   `json:"bytes_read"`
	Seconds         float64 `json:"seconds"`
}

func newCheckDoc(image string, mode checkMode) *checkDoc {
	return &checkDoc{Schema: "fatkit.check/1", Image: image, Volumes: []*volumeDoc{}, mode: mode}
}

func (d *checkDoc) add(v *volumeDoc) { d.Volumes = append(d.Volumes, v) }

// findings counts all of them.
func (d *checkDoc) findings() int {
	n := 0
	if d.Table != nil {
		n = len(d.Table.Findings)
	}
	for _, v := range d.Volumes {
		n += len(v.Findings)
	}
	return n
}

func skippedVolume(r region) *volumeDoc {
	return &volumeDoc{volumeHead: head(r, vol.Info{Type: r.other.kind}), Verdict: verdictSkipped,
		Reason: r.unknown(), Findings: []findingDoc{}}
}

func unreadableVolume(r region, err error) *volumeDoc {
	info := vol.Info{Type: r.id.Type, Label: r.id.Label, ID: r.id.ID, Size: r.id.Size}
	return &volumeDoc{volumeHead: head(r, info), Verdict: verdictUnreadable,
		Reason: explainError(err), Findings: []findingDoc{}}
}

// newVolumeDoc is a volume that was checked. Repairs that must not be written
// are none.
func newVolumeDoc(r region, res *vol.Result, o *checkOptions) *volumeDoc {
	v := &volumeDoc{volumeHead: head(r, res.Info), Findings: []findingDoc{},
		Stats: newStatsDoc(res.Stats), info: res.Info, failOn: o.failOn, Stopped: res.Stopped}
	if res.Unproven != nil {
		v.unproven = true
		v.Reason = "the repairs are not written: " + res.Unproven.Error() + "; \"fatkit check -r\" can leave one out"
	}
	for _, out := range lastOutcomes(res.Outcomes) {
		f := newFindingDoc(&out, r.at.Off)
		if out.Repaired != nil && res.Unproven == nil {
			f.Repaired = out.Repaired.Name
		}
		v.Findings = append(v.Findings, f)
	}
	v.want()
	v.judge()
	return v
}

// want marks lost clusters where a file is left that they may be given to.
func (v *volumeDoc) want() {
	wanted := slices.ContainsFunc(v.Findings, func(f findingDoc) bool {
		return f.Repaired == "" && slices.ContainsFunc(f.Repairs, func(r repairDoc) bool { return r.Name == rejoinName })
	})
	for i := range v.Findings {
		v.Findings[i].wanted = wanted && isOrphans(v.Findings[i].Slug)
	}
}

// safe reports whether -p repairs f.
func (f *findingDoc) safe() bool {
	return !f.wanted && slices.ContainsFunc(f.Repairs, func(r repairDoc) bool { return r.Loss == vol.LossNone.String() })
}

// lastOutcomes leaves of findings that were met in several rounds the last, in
// the place of the first.
func lastOutcomes(all []vol.Outcome) []vol.Outcome {
	at := map[string]int{}
	var out []vol.Outcome
	for _, o := range all {
		key := o.Key()
		if i, ok := at[key]; ok {
			out[i] = o
			continue
		}
		at[key] = len(out)
		out = append(out, o)
	}
	return out
}

// judge sets the verdict from what became of the findings.
func (v *volumeDoc) judge() {
	v.Verdict = verdictClean
	for _, f := range v.Findings {
		if v.unproven || f.Repaired == "" && f.severity >= v.failOn {
			v.Verdict = verdictUncorrected
			return
		}
		if f.Repaired != "" {
			v.Verdict = verdictCorrected
		}
	}
}

// undoRepairs says of the repairs of a dry run that they would be made.
func (d *checkDoc) undoRepairs() {
	for _, v := range d.Volumes {
		if v.Verdict == verdictSkipped || v.Verdict == verdictUnreadable {
			continue
		}
		for i := range v.Findings {
			f := &v.Findings[i]
			f.WouldRepair, f.Repaired = f.Repaired, ""
		}
		v.judge()
	}
}

// settle sets the exit code from the verdicts, ORed over the volumes. A volume
// of which something is left gives 4 and not 5 whatever else was corrected: a
// script that looks for 1 wants to hear that all is well now.
func (d *checkDoc) settle() {
	codes := map[string]int{verdictCorrected: exitCorrected, verdictUncorrected: exitLeft, verdictUnreadable: exitFailed}
	for _, v := range d.Volumes {
		d.Exit |= codes[v.Verdict]
	}
	if d.Table != nil {
		d.Exit |= codes[d.Table.Verdict]
	}
}

// newFindingDoc is a finding on a volume that starts at byte base of the image.
func newFindingDoc(o *vol.Outcome, base int64) findingDoc {
	f := o.Finding
	d := findingDoc{
		Code: f.Code, Slug: f.Slug, Severity: f.Severity.String(), Message: f.Message(),
		locationDoc: newLocationDoc(f.Loc, base), Repairs: []repairDoc{}, severity: f.Severity, mendable: o.Mendable,
	}
	for _, l := range f.Related {
		d.Related = append(d.Related, newLocationDoc(l, base))
	}
	for _, r := range f.Offered() {
		d.Repairs = append(d.Repairs, newRepairDoc(r))
	}
	return d
}

func newRepairDoc(r vol.Repair) repairDoc { return repairDoc{r.Name, r.Title, r.Loss.String()} }

func newLocationDoc(l vol.Location, base int64) locationDoc {
	d := locationDoc{Path: l.Path, Bytes: bytesBeside(l.Path), Cluster: l.Cluster}
	if !l.Range.Empty() {
		off := base + l.Range.Off
		d.Offset, d.Length = &off, l.Range.Len
	}
	return d
}

func newStatsDoc(s vol.Stats) *statsDoc {
	return &statsDoc{
		Files: s.Files, Directories: s.Directories, Clusters: s.Clusters,
		UsedClusters: s.Used, FreeClusters: s.Free, BadClusters: s.Bad,
		FragmentedFiles: s.FragmentedFiles, BytesRead: s.BytesRead,
	}
}
