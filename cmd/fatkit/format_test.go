package main

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fatkit/fatkit/pkg/dev"
)

func TestFormatNewFile(t *testing.T) {
	f := newFake(t)
	f.run("format", "-t", "fake", "-s", "1M", "IMAGE2").want(t, 0, "it is a fake", "FAKE")
	fi, err := os.Stat(f.image + "2")
	if err != nil || fi.Size() != 1<<20 {
		t.Fatalf("%v, %v", fi, err)
	}
	f.run("check", "IMAGE2").want(t, 0)
	f.run("format", "-t", "fake", "-s", "1K", "IMAGE3").want(t, 4, "too few")
	f.run("format", "-t", "fake", "-s", "2M", "--dry-run", "IMAGE3").want(t, 0, "nothing was written")
	if _, err := os.Stat(f.image + "3"); err == nil {
		t.Error("a file is left of a format that failed")
	}
	f.run("format", "-t", "fake", "IMAGE3").want(t, 8, "--size")
}

func TestFormatExistingName(t *testing.T) {
	f := newFake(t)
	before := f.read()
	f.run("format", "-t", "fake", "-s", "1M", "IMAGE").want(t, 4, "exists already", "--force")
	if !bytes.Equal(before, f.read()) {
		t.Fatal("changed")
	}
	if err := os.Chmod(f.image, 0o600); err != nil {
		t.Fatal(err)
	}
	f.run("format", "-t", "fake", "-s", "1M", "-f", "IMAGE").want(t, 0)
	fi, err := os.Stat(f.image)
	if err != nil || fi.Size() != 1<<20 || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
	f.write(f.image, nil) // as mktemp(1) leaves it
	f.run("format", "-t", "fake", "IMAGE").want(t, 8, "empty", "--size")
	f.run("format", "-t", "fake", "-s", "1M", "IMAGE").want(t, 0)
	f.run("format", "-t", "fake", "-s", "1M", "-f", filepath.Dir(f.image)).want(t, 8, "no regular file")
	if left, _ := filepath.Glob(f.image + ".*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestFormatRefusesForeignContent(t *testing.T) {
	ext4 := make([]byte, 128<<10)
	ext4[1024+0x38], ext4[1024+0x39], ext4[1024+0x60] = 0x53, 0xEF, 0x40
	at := func(off int, mark string) []byte {
		b := make([]byte, 128<<10)
		copy(b[off:], mark)
		return b
	}
	for what, content := range map[string][]byte{
		"a fake file system called \"FAKE\"": fakeVolumeBytes(),
		"an ext4 file system":                ext4,
		"an XFS file system":                 at(0, "XFSB"),
		"a Btrfs file system":                at(65600, "_BHRfS_M"),
		"a LUKS volume":                      at(0, "LUKS\xba\xbe"),
		"swap space":                         at(4086, "SWAPSPACE2"),
		"an LVM physical volume":             at(512, "LABELONE"),
		"an ISO 9660 file system":            at(32769, "CD001"),
		"an F2FS file system":                at(1024, "\x10\x20\xf5\xf2"),
		"an exFAT file system":               at(3, "EXFAT   "),
		"an NTFS file system":                at(3, "NTFS    "),
	} {
		f := newFake(t)
		f.write(f.image, content)
		f.run("format", "-t", "fake", "IMAGE").want(t, 4, what, "--force")
		if !bytes.Equal(f.read(), content) {
			t.Errorf("%s: changed", what)
		}
		f.run("format", "-t", "fake", "--dry-run", "IMAGE").want(t, 0, what)
		f.run("format", "-t", "fake", "--force", "IMAGE").want(t, 0)
		f.run("check", "IMAGE").want(t, 0)
	}
	f := twoPartitions(t)
	f.run("format", "-t", "fake", "IMAGE").want(t, 4, "a partition table with 1 partition")
	f.run("format", "-t", "fake", "IMAGE:1").want(t, 0)
	f.run("check", "IMAGE").want(t, 0, "card.img:1: FAKE")
	f.run("format", "-t", "fake", "IMAGE:2").want(t, 8, "no partition 2")
	f.run("format", "-t", "fake", "IMAGE@@64S").want(t, 4, "a fake file system")
	f.run("format", "-t", "fake", "IMAGE@@100").want(t, 16, "512")
	f.run("format", "-t", "fake", "IMAGE@@1G").want(t, 4, "beyond the end")
}

func TestFormatUsage(t *testing.T) {
	f := newFake(t)
	for _, args := range []string{
		"", "IMAGE", "-t ntfs IMAGE", "-t fake IMAGE IMAGE", "-t fake -s 0 IMAGE", "-t fake -s x IMAGE", "-t fake -s -5 IMAGE",
		"-t fake -c 1.3K IMAGE", "-t fake -c 0 IMAGE", "-t fake --media-type 300 IMAGE", "-t fake --fats x IMAGE",
		"-t fake -s 1M IMAGE9:1", "-t fake -s 1M IMAGE9@@1M", "-t fake -s 1M --keep-undo IMAGE9", "-t fake -f --fats 2 IMAGE", "-t fake -f -O x IMAGE",
	} {
		if got := f.run(append([]string{"format"}, strings.Fields(args)...)...); got.code != exitUsage || got.err == "" {
			t.Errorf("format %s: exit %d, %q", args, got.code, got.err)
		}
	}
	f.env["SOURCE_DATE_EPOCH"] = "yesterday"
	f.run("format", "-t", "fake", "-f", "IMAGE").want(t, 16, "SOURCE_DATE_EPOCH")
}

func TestFormatIsReproducible(t *testing.T) {
	f := newFake(t)
	head := func(name string) string {
		b, err := os.ReadFile(f.image + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:32])
	}
	f.env["SOURCE_DATE_EPOCH"] = "1700000001"
	f.run("format", "-t", "fake", "-s", "1M", "IMAGE-a").want(t, 0)
	f.run("format", "-t", "fake", "-s", "1M", "IMAGE-b").want(t, 0)
	f.run("format", "-t", "fake", "-s", "2M", "IMAGE-c").want(t, 0)
	if head("-a") != head("-b") || head("-a") == head("-c") {
		t.Error("not derived from what the volume is")
	}
	if binary.LittleEndian.Uint64([]byte(head("-a"))[24:]) != 1700000001 {
		t.Error("SOURCE_DATE_EPOCH is not the time")
	}
	delete(f.env, "SOURCE_DATE_EPOCH")
	f.run("format", "-t", "fake", "-s", "1M", "IMAGE-d").want(t, 0)
	f.run("format", "-t", "fake", "-s", "1M", "IMAGE-e").want(t, 0)
	if head("-d") == head("-e") {
		t.Error("ids are not random")
	}
}

// gptDisk makes a disk of 1 MiB with one partition.
func gptDisk() []byte {
	const sectors = 2048
	b := make([]byte, sectors*512)
	b[446+4], b[510], b[511] = 0xEE, 0x55, 0xAA
	binary.LittleEndian.PutUint32(b[446+8:], 1)
	binary.LittleEndian.PutUint32(b[446+12:], sectors-1)
	entries := make([]byte, 128*128)
	entries[0] = 1 // a type
	binary.LittleEndian.PutUint64(entries[32:], 512)
	binary.LittleEndian.PutUint64(entries[40:], 1023)
	header := func(self, other, table uint64) []byte {
		h := make([]byte, 512)
		copy(h, "EFI PART\x00\x00\x01\x00\x5c\x00\x00\x00")
		binary.LittleEndian.PutUint64(h[24:], self)
		binary.LittleEndian.PutUint64(h[32:], other)
		binary.LittleEndian.PutUint64(h[40:], 34)
		binary.LittleEndian.PutUint64(h[48:], sectors-34)
		binary.LittleEndian.PutUint64(h[72:], table)
		binary.LittleEndian.PutUint32(h[80:], 128)
		binary.LittleEndian.PutUint32(h[84:], 128)
		binary.LittleEndian.PutUint32(h[88:], crc32.ChecksumIEEE(entries))
		binary.LittleEndian.PutUint32(h[16:], crc32.ChecksumIEEE(h[:92]))
		return h
	}
	copy(b[512:], header(1, sectors-1, 2))
	copy(b[1024:], entries)
	copy(b[(sectors-33)*512:], entries)
	copy(b[(sectors-1)*512:], header(sectors-1, 1, sectors-33))
	return b
}

// What an offset names ends where something else begins.
func TestBounds(t *testing.T) {
	f := newFake(t)
	f.write(f.image, gptDisk())
	a := newApp(nil, nil, nil, nil)
	im, err := a.open(t.Context(), f.image, dev.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = im.Close() })
	for off, want := range map[int64]int64{
		0:         256 << 10, // before the partition
		64 << 10:  192 << 10,
		256 << 10: 256 << 10,               // the partition
		300 << 10: 212 << 10,               // inside of it
		512 << 10: (2048-33)*512 - 512<<10, // up to the backup table
	} {
		im.off = off
		r := &formatRun{a: a, place: im.place}
		got, err := r.bounds(im)
		if err != nil || got != (dev.Range{Off: off, Len: want}) {
			t.Errorf("at %d: %v, %v; want %d bytes", off, got, err, want)
		}
	}
	im.off = 1<<20 - 1024
	if got, err := (&formatRun{a: a, place: im.place}).bounds(im); err == nil {
		t.Errorf("inside the backup table: %v", got)
	}
}
