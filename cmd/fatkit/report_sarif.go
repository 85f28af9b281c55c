package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fatkit/fatkit/pkg/vol"
)

// The parts of a log of SARIF 2.1.0 (OASIS) that we use; the numbers are those of
// its sections.
type (
	sarifLog struct { // 3.13
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct { // 3.14
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Artifacts   []sarifArtifact   `json:"artifacts"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct { // 3.18
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct { // 3.19
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct { // 3.49
		ID               string         `json:"id"`
		Name             string         `json:"name"`
		ShortDescription sarifText      `json:"shortDescription"`
		FullDescription  sarifText      `json:"fullDescription"`
		Help             sarifText      `json:"help"`
		Configuration    sarifConfig    `json:"defaultConfiguration"`
		Properties       map[string]any `json:"properties"`
	}
	sarifConfig struct { // 3.50
		Level string `json:"level"`
	}
	sarifText struct { // 3.11, 3.12
		Text string `json:"text"`
	}
	sarifInvocation struct { // 3.20
		Successful    bool                `json:"executionSuccessful"`
		ExitCode      int                 `json:"exitCode"`
		Notifications []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct { // 3.58
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifArtifact struct { // 3.24
		Location sarifURI `json:"location"`
	}
	sarifURI struct { // 3.4
		URI   string `json:"uri"`
		Index int    `json:"index"`
	}
	sarifResult struct { // 3.27
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Kind         string            `json:"kind"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Related      []sarifLocation   `json:"relatedLocations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Properties   map[string]any    `json:"properties"`
	}
	sarifLocation struct { // 3.28
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct { // 3.29
		Artifact sarifURI    `json:"artifactLocation"`
		Region   sarifRegion `json:"region"`
	}
	// 3.30. The two parts of a region are independent, 3.30.4: the bytes are ours,
	// and the line is there because GitHub passes over results without one.
	sarifRegion struct {
		Line   int    `json:"startLine"`
		Offset *int64 `json:"byteOffset,omitempty"`
		Length *int64 `json:"byteLength,omitempty"`
	}
	sarifLogical struct { // 3.33
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
)

// fingerprint names what the fingerprints of results are made of, 3.27.17: the
// code and the place in the volume, which moving a partition does not change.
const fingerprint = "fatkitPlace/v1"

// sarifReporter collects one run.
type sarifReporter struct {
	a     *app
	run   sarifRun
	rules map[string]int // by code, in the driver's list
	files map[string]int // by path, in the list of artifacts
}

func newSARIFReporter(a *app) *sarifReporter {
	r := &sarifReporter{a: a, rules: map[string]int{}, files: map[string]int{}}
	r.run.Tool.Driver = sarifDriver{Name: "fatkit", Version: versionNumber,
		InformationURI: "https://github.com/fatkit/fatkit", Rules: []sarifRule{}}
	r.run.Artifacts, r.run.Results = []sarifArtifact{}, []sarifResult{}
	r.run.Invocations = []sarifInvocation{{Successful: true, Notifications: []sarifNotification{}}}
	return r
}

// Image adds its findings.
func (r *sarifReporter) Image(d *checkDoc) {
	file := r.file(d.Image)
	if d.Table != nil {
		for i := range d.Table.Findings {
			r.add(file, nil, &d.Table.Findings[i])
		}
	}
	for _, v := range d.Volumes {
		if v.Verdict == verdictUnreadable {
			r.notify(file, region{part: v.Partition}.name(d.Image)+": "+v.Reason)
		}
		for i := range v.Findings {
			r.add(file, v, &v.Findings[i])
		}
	}
}

// Failed adds an image that could not be checked.
func (r *sarifReporter) Failed(image string, err error) {
	r.notify(r.file(image), explainError(err))
}

// notify says what went wrong with the check itself.
func (r *sarifReporter) notify(file sarifURI, text string) {
	in := &r.run.Invocations[0]
	in.Successful = false
	in.Notifications = append(in.Notifications, sarifNotification{Level: "error", Message: plainMessage(printable(text)),
		Locations: []sarifLocation{sarifPlace(file, locationDoc{})}})
}

// End prints the log.
func (r *sarifReporter) End(code int) {
	r.run.Invocations[0].ExitCode = code
	r.a.printJSON(sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0", Runs: []sarifRun{r.run},
	})
}

// file is the place of an image in the list of artifacts.
func (r *sarifReporter) file(image string) sarifURI {
	path := imagePath(image)
	i, ok := r.files[path]
	if !ok {
		i = len(r.run.Artifacts)
		r.files[path] = i
		r.run.Artifacts = append(r.run.Artifacts, sarifArtifact{sarifURI{fileURI(path), i}})
	}
	return sarifURI{fileURI(path), i}
}

// imagePath is the file that an IMAGE argument is about.
func imagePath(image string) string {
	if p, err := parsePlace(image, exists); err == nil {
		return p.path
	}
	return image
}

// fileURI is a path as a URI, relative where it is: whoever reads it knows where
// the run was.
func fileURI(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
		u.Path = "/" + strings.TrimPrefix(u.Path, "/")
	}
	return u.String()
}

// add adds a finding; v is nil where it is about the partition table.
func (r *sarifReporter) add(file sarifURI, v *volumeDoc, f *findingDoc) {
	res := sarifResult{
		RuleID: f.Code, RuleIndex: r.rule(f), Kind: "fail", Level: sarifLevel(f.severity),
		Message:    plainMessage(printable(f.Message) + fate(*f)),
		Locations:  []sarifLocation{sarifPlace(file, f.locationDoc)},
		Properties: map[string]any{"slug": f.Slug, "severity": f.Severity, "repairs": f.Repairs, "repaired": f.Repaired},
	}
	if f.Repaired != "" { // 3.27.9, 3.27.10: it is none any more
		res.Kind, res.Level = "informational", "none"
	}
	for _, l := range f.Related {
		res.Related = append(res.Related, sarifPlace(file, l))
	}
	part, base := f.Partition, int64(0)
	if v != nil {
		part, base = v.Partition, v.Offset
		res.Properties["volumeType"] = v.Type
	}
	if part != 0 {
		res.Properties["partition"] = part
	}
	if f.Cluster != 0 {
		res.Properties["cluster"] = f.Cluster
	}
	off := int64(-1)
	if f.Offset != nil {
		off = *f.Offset - base
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s|%d|%s|%d|%d", f.Code, part, f.Path, f.Cluster, off))
	res.Fingerprints = map[string]string{fingerprint: hex.EncodeToString(sum[:16])}
	r.run.Results = append(r.run.Results, res)
}

// sarifPlace is a place of an image: bytes, and the path in the volume.
func sarifPlace(file sarifURI, l locationDoc) sarifLocation {
	s := sarifLocation{Physical: sarifPhysical{file, sarifRegion{Line: 1}}}
	if l.Offset != nil {
		s.Physical.Region.Offset, s.Physical.Region.Length = l.Offset, &l.Length
	}
	if l.Path != "" {
		s.Logical = []sarifLogical{{printable(l.Path), "resource"}}
	}
	return s
}

// sarifLevel is a severity as 3.27.10 has it.
func sarifLevel(s vol.Severity) string {
	switch s {
	case vol.SevError:
		return "error"
	case vol.SevWarning:
		return "warning"
	}
	return "note"
}

// plainMessage is text as a plain text message that says just that: braces are those of
// placeholders unless they are doubled, 3.11.5, and what looks like a link is one unless
// its brackets are escaped, 3.11.6.
func plainMessage(text string) sarifText {
	text = strings.NewReplacer("{", "{{", "}", "}}").Replace(text)
	if strings.Contains(text, "](") {
		text = strings.NewReplacer("[", `\[`, "]", `\]`).Replace(text)
	}
	return sarifText{text}
}

// rule is the place of the rule of f in the driver's list.
func (r *sarifReporter) rule(f *findingDoc) int {
	if i, ok := r.rules[f.Code]; ok {
		return i
	}
	var p vol.Problem
	for _, c := range r.a.catalogues() {
		if q := vol.Find(c.problems, f.Code); q != nil {
			p = *q
			break
		}
	}
	help := p.Explain
	for _, rep := range p.Repairs {
		help += fmt.Sprintf("\n\nRepair %s: %s%s.", rep.Name, rep.Title, lossWords(rep.Loss.String()))
	}
	if p.Source != "" {
		help += "\n\nSource: " + p.Source
	}
	i := len(r.run.Tool.Driver.Rules)
	r.rules[f.Code] = i
	r.run.Tool.Driver.Rules = append(r.run.Tool.Driver.Rules, sarifRule{
		ID: f.Code, Name: f.Slug, ShortDescription: plainMessage(capital(p.Title) + "."), FullDescription: plainMessage(orElse(p.Explain, p.Title)),
		Help: plainMessage(orElse(help, p.Title)), Configuration: sarifConfig{sarifLevel(p.Severity)},
		Properties: map[string]any{"tags": slices.Compact([]string{"file-system", strings.ToLower(strings.TrimRight(f.Code, "0123456789-"))})},
	})
	return i
}

// orElse is s, or t where that is empty.
func orElse(s, t string) string {
	if s == "" {
		return t
	}
	return s
}
