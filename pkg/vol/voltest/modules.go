//go:build linux

package voltest

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// modules are the loadable parts of a kernel. Their names are written with
// underscores, whatever their files are called.
type modules struct {
	paths   map[string]string   // by name
	needs   map[string][]string // the paths of what has to be loaded before, by path
	builtin map[string]bool     // names of those that are part of the kernel itself
}

// readModules reads the lists in a kernel's directory of modules.
func readModules(dir string) (*modules, error) {
	m := &modules{paths: map[string]string{}, needs: map[string][]string{}, builtin: map[string]bool{}}
	dep, err := os.ReadFile(filepath.Join(dir, "modules.dep"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(dep)) {
		file, needs, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%s/modules.dep: no colon in %q", dir, line)
		}
		m.paths[moduleName(file)] = file
		m.needs[file] = strings.Fields(needs)
	}
	builtin, err := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	if err != nil {
		return nil, err
	}
	for file := range strings.FieldsSeq(string(builtin)) {
		m.builtin[moduleName(file)] = true
	}
	return m, nil
}

// moduleName is the name of the module in a file.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// has tells whether there is a module of that name to be loaded.
func (m *modules) has(name string) bool { return m.paths[name] != "" }

// closure are the paths of the modules and of all that they need, in an order
// in which they can be loaded.
func (m *modules) closure(names []string) ([]string, error) {
	var order []string
	var add func(file string)
	add = func(file string) {
		if slices.Contains(order, file) {
			return
		}
		for _, need := range m.needs[file] {
			add(need)
		}
		order = append(order, file)
	}
	for _, name := range names {
		switch file := m.paths[name]; {
		case file != "":
			add(file)
		case !m.builtin[name]:
			return nil, fmt.Errorf("the kernel has no module %s", name)
		}
	}
	return order, nil
}
