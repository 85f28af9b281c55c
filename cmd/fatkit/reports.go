package main

// reporter prints what a check found, in one format. It is told of the images in
// order.
type reporter interface {
	// Image is told of an image when all is known of it.
	Image(d *checkDoc)
	// Failed is told of an image that could not be checked at all.
	Failed(image string, err error)
	// End is told the exit code when there is nothing more to come.
	End(code int)
}

// Formats that --report takes.
const (
	reportText   = "text"
	reportJSON   = "json"
	reportJSONL  = "jsonl"
	reportSARIF  = "sarif"
	reportJUnit  = "junit"
	reportGitHub = "github"
)

// reportNames are they, in the order in which people are told of them.
func reportNames() []string {
	return []string{reportText, reportJSON, reportJSONL, reportSARIF, reportJUnit, reportGitHub}
}

// newReporter is the reporter of that name.
func (a *app) newReporter(name string, o *checkOptions) reporter {
	switch name {
	case reportJSON:
		return jsonReporter{a}
	case reportJSONL:
		return &jsonlReporter{a: a}
	case reportSARIF:
		return newSARIFReporter(a)
	case reportJUnit:
		return &junitReporter{a: a, failOn: o.failOn}
	case reportGitHub:
		return &githubReporter{a: a}
	}
	return &textReporter{a: a}
}
