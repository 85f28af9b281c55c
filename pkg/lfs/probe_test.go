package lfs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// newVolume is a device with a volume of size bytes.
func newVolume(t testing.TB, size int64, o vol.FormatOptions) (*dev.Mem, *Geometry) {
	t.Helper()
	p, g := mustPlan(t, vol.Target{Size: size}, o)
	d := dev.NewMem(size)
	if _, err := p.Apply(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d, g
}

// change writes b at off.
func change(t testing.TB, d dev.Device, off int64, b ...byte) {
	t.Helper()
	if _, err := d.WriteAt(b, off); err != nil {
		t.Fatal(err)
	}
}

// TestProbe: what damage makes of the certainty.
func TestProbe(t *testing.T) {
	const size = 64 << 20
	second := int64(4096 + superOffset)
	for name, c := range map[string]struct {
		damage func(d *dev.Mem, g *Geometry)
		want   vol.Confidence
		note   string
	}{
		"whole":                {func(*dev.Mem, *Geometry) {}, vol.Sure, ""},
		"no second superblock": {func(d *dev.Mem, _ *Geometry) { change(t, d, second, 0) }, vol.Sure, "second superblock: the magic"},
		"no first superblock":  {func(d *dev.Mem, _ *Geometry) { change(t, d, superOffset, 0) }, vol.Maybe, "only the second"},
		"first damaged":        {func(d *dev.Mem, _ *Geometry) { change(t, d, superOffset+sbLogBlock, 99) }, vol.Likely, "first superblock: log_blocksize"},
		"both damaged":         {func(d *dev.Mem, _ *Geometry) { change(t, d, superOffset+sbCP, 9); change(t, d, second+sbCP, 9) }, vol.Likely, "superblock: cp_blkaddr"},
		"neither":              {func(d *dev.Mem, _ *Geometry) { change(t, d, superOffset, 0); change(t, d, second, 0) }, vol.No, ""},
		"one pack":             {func(d *dev.Mem, g *Geometry) { change(t, d, g.BlockOff(g.PackBlock(0)), 1, 2) }, vol.Sure, ""},
		"no pack": {func(d *dev.Mem, g *Geometry) {
			change(t, d, g.BlockOff(g.PackBlock(0)), 1, 2)
			change(t, d, g.BlockOff(g.PackBlock(1)+5), 1, 2)
		}, vol.Likely, "no valid checkpoint"},
	} {
		d, g := newVolume(t, size, vol.FormatOptions{Label: "PROBE"})
		c.damage(d, g)
		id := probe(d)
		if id.Confidence != c.want || !strings.Contains(id.Note, c.note) || (id.Note == "") != (c.note == "") {
			t.Errorf("%s: taken for %+v, should be %v, %q", name, id, c.want, c.note)
		}
		if id.Confidence != vol.No && name != "both damaged" && (id.Label != "PROBE" || id.Size != size || id.Type != "f2fs") {
			t.Errorf("%s: taken for %+v", name, id)
		}
	}
}

// TestProbeOverlaid: the second superblock of a volume that was here before
// does not count where another format lives now.
func TestProbeOverlaid(t *testing.T) {
	d, _ := newVolume(t, 64<<20, vol.FormatOptions{})
	change(t, d, superOffset, make([]byte, superLen)...)
	if id := probe(d); id.Confidence != vol.Maybe {
		t.Errorf("taken for %+v", id)
	}
	change(t, d, superOffset+56, 0x53, 0xEF) // ext4
	if id := probe(d); id.Confidence != vol.No {
		t.Errorf("overlaid, and taken for %+v", id)
	}
}

// TestProbeSizes: blocks of any size are found, the second superblock too, and
// a device that is cut short is no reason to give up.
func TestProbeSizes(t *testing.T) {
	for block := int64(4096); block <= 16384; block *= 2 {
		d, g := newVolume(t, gib, vol.FormatOptions{ClusterSize: block})
		if id := probe(d); id.Confidence != vol.Sure {
			t.Errorf("blocks of %d: taken for %+v", block, id)
		}
		for _, cut := range []int64{gib - block, g.BlockOff(g.Main), g.BlockOff(g.CP) + 1, 4096, superOffset + superLen} {
			s, err := dev.Section(d, dev.Range{Len: cut})
			if err != nil {
				t.Fatal(err)
			}
			if id := probe(s); id.Confidence != vol.Likely || id.Note != "the volume is larger than what is there" {
				t.Errorf("blocks of %d, cut at %d: taken for %+v", block, cut, id)
			}
			if _, err := describe(s); err != nil {
				t.Errorf("blocks of %d, cut at %d: %v", block, cut, err)
			}
		}
		change(t, d, superOffset, 0)
		if id := probe(d); id.Confidence != vol.Maybe {
			t.Errorf("blocks of %d, second superblock: taken for %+v", block, id)
		}
	}
	for _, size := range []int64{0, 1, 1024, 4095} {
		if id := probe(dev.NewMem(size)); id.Confidence != vol.No {
			t.Errorf("%d bytes of zeros are taken for %+v", size, id)
		}
	}
}

// TestDescribe: all fields are there, each under a name of its own, at its
// place.
func TestDescribe(t *testing.T) {
	d, g := newVolume(t, 300*mib, vol.FormatOptions{Label: "INFO", Features: "quota,lost_found,sb_checksum", ColdExtensions: []string{"raw"}})
	info, err := describe(d)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]vol.Field{}
	for _, f := range info.Fields {
		if _, ok := byName[f.Name]; ok {
			t.Errorf("field %s is there twice", f.Name)
		}
		byName[f.Name] = f
	}
	for name, want := range map[string]any{
		"magic": "0xf2f52010", "block_count": uint64(300 * 256), "segment_count_main": g.MainSegments, "features": "quota,lost_found,sb_checksum",
		"volume_name": "INFO", "hot_extensions": "db vmdk vdi qcow2", "qf_ino": "4 5 0", "superblock_1_valid": true, "superblocks_equal": true,
		"checkpoint_1_valid": true, "checkpoint_2_valid": true, "ckpt_flags": "0x5", "checkpoint_flags": "umount compact_sum", "cur_node_blkoff": "4 0 0", "next_free_nid": uint32(7), "alloc_type": "0 0 0 0 0 0",
		"s_stop_reason": "0" + strings.Repeat(" 0", 31), "init_version": maker, "cp_checksum_offset": uint32(4092),
	} {
		if got := byName[name].Value; got != want {
			t.Errorf("%s is %v, should be %v", name, got, want)
		}
	}
	if f := byName["main_blkaddr"]; f.Offset != superOffset+sbMain {
		t.Errorf("%+v", f)
	}
	if f := byName["valid_node_count"]; f.Offset != g.BlockOff(g.CP)+cpValidNodes {
		t.Errorf("%+v", f)
	}
	if !strings.HasSuffix(fmt.Sprint(byName["cold_extensions"].Value), " so raw") {
		t.Errorf("%+v", byName["cold_extensions"])
	}
}

// TestDescribeDamaged: what is left is told, and by which kind of error if
// nothing is.
func TestDescribeDamaged(t *testing.T) {
	d, g := newVolume(t, 64*mib, vol.FormatOptions{})
	field := func(name string) any {
		info, err := describe(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range info.Fields {
			if f.Name == name {
				return f.Value
			}
		}
		return nil
	}
	newer := field("checkpoint_ver").(uint64)
	change(t, d, g.BlockOff(g.PackBlock(0))+8, 0xFF)
	if field("checkpoint_1_valid") != false || field("checkpoint_1_fault") == nil || field("checkpoint_ver") != newer-1 {
		t.Errorf("the first pack is damaged, and the version is %v of %d", field("checkpoint_ver"), newer)
	}
	change(t, d, g.BlockOff(g.PackBlock(1))+8, 0xFF)
	if field("checkpoint_2_valid") != false || field("checkpoint_ver") != nil {
		t.Error("both packs are damaged, and one is described")
	}
	change(t, d, superOffset+sbCP, 1)
	if field("superblock_1_valid") != false || field("superblocks_equal") != false {
		t.Error("the first superblock is damaged, and that is not told")
	}
	change(t, d, 4096+superOffset+sbCP, 1)
	if _, err := describe(d); !errors.Is(err, vol.ErrDamaged) {
		t.Errorf("both superblocks are damaged: %v", err)
	}
	for _, size := range []int64{0, 100, 64 << 20} {
		if _, err := describe(dev.NewMem(size)); !errors.Is(err, vol.ErrNotVolume) {
			t.Errorf("%d bytes of zeros: %v", size, err)
		}
	}
}
