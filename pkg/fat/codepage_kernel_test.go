//go:build linux

package fat

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/voltest"
)

// pageNames are names for a volume in a code page: some fit into a short name,
// of others there is a short one, the alias.
type pageNames struct {
	page    int
	names   []string
	aliases map[string]string // of some of names
}

func codepageNames() []pageNames {
	return []pageNames{
		{850, []string{"GRÜSSE.TXT", "Grüße aus München.txt", "ÕX"}, map[string]string{"Grüße aus München.txt": "GRÜßEA~1.TXT"}},
		{737, []string{"ΑΒΓ.ΔΕ", "καλημέρα κόσμε.txt"}, nil},
		{866, []string{"ПРИВЕТ.ТХТ", "Привет, мир.txt"}, map[string]string{"Привет, мир.txt": "ПРИВЕТ~1.TXT"}},
		{864, []string{"A%B", "100%"}, nil},
		{932, []string{"表.TXT", "漢字名前の一覧.text", "ソフト", "蕁草.x", "a漢字名前", "ab漢.txt", "ｶﾅ", "Ａｂ"},
			map[string]string{"漢字名前の一覧.text": "漢字名~1.TEX", "a漢字名前": "A漢字~1", "ソフト": "ソフト", "表.TXT": "表.TXT"}},
		{936, []string{"中文文件.TXT", "一个很长的中文文件名.txt", "€uro"}, map[string]string{"一个很长的中文文件名.txt": "一个很~1.TXT"}},
		{949, []string{"한글.이", "긴 한글 이름의 파일.txt"}, map[string]string{"긴 한글 이름의 파일.txt": "긴한글~1.TXT"}},
		{950, []string{"許功蓋", "一個很長的中文檔案名稱.txt"}, map[string]string{"許功蓋": "許功蓋", "一個很長的中文檔案名稱.txt": "一個很~1.TXT"}},
	}
}

// put makes a volume with the names; what is in a file is its name.
func (n *pageNames) put(t *testing.T) string {
	t.Helper()
	m := formatted(t, "fat16", 9<<20, 2048)
	r := &vol.PutRequest{Open: func(i int) (vol.Contents, error) { return inMemory{bytes.NewReader([]byte(n.names[i]))}, nil }}
	for _, name := range n.names {
		e := vol.Entry{Path: name, Same: -1, Size: int64(len(name))}
		e.Kind = vol.KindFile
		r.Entries = append(r.Entries, e)
	}
	putFiles(t, m, r, vol.ReadOptions{Codepage: n.page})
	n.judged(t, m)
	return voltest.Saved(t, m)
}

// judged holds a volume against our check, and reads its names.
func (n *pageNames) judged(t *testing.T, d dev.Device) {
	t.Helper()
	ctx, o := context.Background(), vol.ReadOptions{Codepage: n.page}
	for _, read := range []vol.ReadOptions{o, {}} { // whoever does not name the page finds nothing wrong, either
		res, err := vol.Fsck(ctx, d, Driver(), vol.CheckOptions{ReadOptions: read}, nil, nil)
		must(t, err)
		for _, f := range res.Outcomes {
			t.Errorf("page %d, read in %d: %s %s %s", n.page, read.Codepage, f.Code, f.Loc.Path, f.Message())
		}
	}
	tree, err := read(ctx, d, o)
	must(t, err)
	for _, name := range n.names {
		if found, err := vol.Resolve(tree, name); err != nil || found.Path != "/"+name {
			t.Errorf("page %d: %s is found as %v, %v", n.page, name, found, err)
		}
	}
	for name, alias := range n.aliases {
		if found, err := vol.Resolve(tree, alias); err != nil || found.Path != "/"+name {
			t.Errorf("page %d: %s of %s is found as %v, %v", n.page, alias, name, found, err)
		}
	}
}

// TestKernelCodepages lets Linux, with the code page of each, read the names that
// we made, long and short, and make some itself, which we read.
func TestKernelCodepages(t *testing.T) {
	needs.Long(t, "boots Linux")
	voltest.Peer(t, "linux.uml") // before the work
	all := codepageNames()
	var images []string
	script := "set -e\n"
	var want []string
	for i := range all {
		n := &all[i]
		images = append(images, n.put(t))
		script += fmt.Sprintf("ko=$(echo /usr/lib/uml/modules/$(uname -r)/kernel/fs/nls/nls_cp%d.ko*)\n[ -e $ko ] || { echo no nls_cp%[1]d; exit 1; }\ninsmod $ko\n", n.page)
		script += fmt.Sprintf("mkdir v; mount -t vfat -o utf8,codepage=%d $1 v; shift\n", n.page)
		var after []string // names that Linux has made
		for _, name := range n.names {
			script += fmt.Sprintf("echo \"%d $(cat 'v/%s')\"\n", n.page, name)
			want = append(want, fmt.Sprintf("%d %s", n.page, name))
			if alias := n.aliases[name]; alias != "" {
				script += fmt.Sprintf("echo \"%d $(cat 'v/%s')\"\n", n.page, alias)
				want = append(want, fmt.Sprintf("%d %s", n.page, name))
			}
			made := "by Linux " + name
			script += fmt.Sprintf("echo x >'v/%s'; mv 'v/%s' 'v/%s.2'\n", made, name, name)
			after = append(after, made, name+".2")
		}
		n.names, n.aliases = after, nil
		script += fmt.Sprintf("echo \"%d $(ls v | wc -l)\"; umount v; rmdir v\n", n.page)
		want = append(want, fmt.Sprintf("%d %d", n.page, len(n.names)))
	}
	got := splitLines(voltest.Kernel(t, script, images...))
	if diff := strings.Join(got, "\n"); diff != strings.Join(want, "\n") {
		t.Errorf("the kernel reads\n%s\nwant\n%s", diff, strings.Join(want, "\n"))
	}
	for i := range all {
		f, err := dev.OpenFile(images[i], dev.OpenOptions{})
		must(t, err)
		all[i].judged(t, f)
		must(t, f.Close())
	}
}

// What we made in a code page mtools read with it, names and contents.
func TestMtoolsCodepages(t *testing.T) {
	mcopy := voltest.Peer(t, "mcopy")
	for _, n := range codepageNames() {
		image, dir := n.put(t), t.TempDir()
		rc := filepath.Join(dir, "rc")
		must(t, os.WriteFile(rc, fmt.Appendf(nil, "default_codepage=%d\n", n.page), 0o644))
		t.Setenv("MTOOLSRC", rc)
		t.Setenv("LC_ALL", "C.UTF-8")
		for _, name := range n.names {
			for _, called := range []string{name, n.aliases[name]} {
				if called == "" {
					continue
				}
				if got := peerRun(t, mcopy, "-n", "-i", image, "::/"+called, "-"); got != name {
					t.Errorf("page %d: mcopy reads %q from %s, not %q", n.page, got, called, name)
				}
			}
		}
	}
}
