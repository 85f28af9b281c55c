package exfat

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sort"
	"testing"
	"unicode/utf16"

	"github.com/fatkit/fatkit/pkg/dev"
	"github.com/fatkit/fatkit/pkg/vol"
)

// plain is another implementation of exFAT, as simple as can be and sharing no
// code with the package, by which the tests tell what is on a volume.
type plain struct {
	d         dev.Device
	cs        int64
	fat, heap int64
	n, root   uint32
	percent   byte
	bits      []byte
	up        map[uint16]uint16
	files     map[string]plainFile
	owner     map[uint32]string
}

// plainFile is a file or directory.
type plainFile struct {
	dir           bool
	noFat         bool
	length, valid uint64
	clusters      []uint32
	set           []byte // all its entries
}

// readPlain reads everything and holds it together: checksums, hashes, chains,
// lengths, and that the bitmap has just what is reached.
func readPlain(d dev.Device) (p *plain, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	le := binary.LittleEndian
	p = &plain{d: d, files: map[string]plainFile{}, owner: map[uint32]string{}, up: map[uint16]uint16{}}
	b := p.read(0, 512)
	ss := int64(1) << b[108]
	p.cs = ss << b[109]
	p.fat, p.heap = int64(le.Uint32(b[80:]))*ss, int64(le.Uint32(b[88:]))*ss
	p.n, p.root, p.percent = le.Uint32(b[92:]), le.Uint32(b[96:]), b[112]
	root := p.chain("root", p.root, 0)
	entries := p.content(root)
	for ; entries[0] != 0; entries = entries[32:] {
		first, length := le.Uint32(entries[20:]), le.Uint64(entries[24:])
		switch entries[0] {
		case 0x81:
			p.bits = p.content(p.chain("bitmap", first, length))[:(p.n+7)/8]
		case 0x82:
			p.upcase(p.content(p.chain("up-case", first, length))[:length])
		}
		if len(entries) == 32 {
			break
		}
	}
	p.dir("", root)
	used := 0
	for c := range p.n {
		got := p.bits[c/8]>>(c%8)&1 == 1
		if _, want := p.owner[c+2]; got != want && !(got && p.next(c+2) == 0xFFFFFFF7) {
			return p, fmt.Errorf("cluster %d: used is %v, owner %q", c+2, got, p.owner[c+2])
		}
		if got {
			used++
		}
	}
	if want := byte(uint64(used) * 100 / uint64(p.n)); p.percent != want && p.percent != 0xFF {
		return p, fmt.Errorf("%d%% in use, should be %d%%", p.percent, want)
	}
	return p, nil
}

func (p *plain) read(off, n int64) []byte {
	b := make([]byte, n)
	if _, err := p.d.ReadAt(b, off); err != nil {
		panic(err)
	}
	return b
}

func (p *plain) upcase(b []byte) {
	u := 0
	for i := 0; i < len(b); i += 2 {
		v := binary.LittleEndian.Uint16(b[i:])
		if v == 0xFFFF && i+2 < len(b) {
			i += 2
			u += int(binary.LittleEndian.Uint16(b[i:]))
			continue
		}
		p.up[uint16(u)] = v
		u++
	}
}

func (p *plain) fold(u uint16) uint16 {
	if v, ok := p.up[u]; ok {
		return v
	}
	return u
}

func (p *plain) own(path string, c uint32) {
	if c < 2 || c-2 >= p.n {
		panic(fmt.Sprintf("%s: cluster %d", path, c))
	}
	if o, ok := p.owner[c]; ok {
		panic(fmt.Sprintf("%s: cluster %d belongs to %s", path, c, o))
	}
	p.owner[c] = path
}

// chain follows the FAT; length 0 is to its end.
func (p *plain) chain(path string, c uint32, length uint64) (out []uint32) {
	for {
		p.own(path, c)
		out = append(out, c)
		next := p.next(c)
		if next == 0xFFFFFFFF {
			break
		}
		c = next
	}
	if length > 0 && uint64(len(out)) != (length+uint64(p.cs)-1)/uint64(p.cs) {
		panic(fmt.Sprintf("%s: %d clusters for %d bytes", path, len(out), length))
	}
	return out
}

// next is the FAT entry of c.
func (p *plain) next(c uint32) uint32 {
	return binary.LittleEndian.Uint32(p.read(p.fat+int64(c)*4, 4))
}

func (p *plain) content(cl []uint32) (b []byte) {
	for _, c := range cl {
		b = append(b, p.read(p.heap+int64(c-2)*p.cs, p.cs)...)
	}
	return b
}

// dir reads the sets of a directory.
func (p *plain) dir(path string, cl []uint32) {
	b := p.content(cl)
	names := map[string]bool{}
	for len(b) > 0 && b[0] != 0 {
		if b[0] != 0x85 {
			if b[0]&0xC0 == 0xC0 {
				panic(fmt.Sprintf("%s: stray entry %#x", path, b[0]))
			}
			n := 1
			if b[0]&0xE0 == 0xA0 {
				n += int(b[1]) // benign, of a kind that is not known
				if b[4]&1 != 0 {
					p.stream(path+" (other)", b, b[4])
				}
				p.others(path, b[32:32*n])
			}
			b = b[32*n:]
			continue
		}
		n := 32 * (1 + int(b[1]))
		p.set(path, b[:n], names)
		b = b[n:]
	}
	for _, v := range b {
		if v != 0 {
			panic(path + ": something behind the end")
		}
	}
}

func (p *plain) set(dir string, s []byte, names map[string]bool) {
	le := binary.LittleEndian
	sum, hash := uint16(0), uint16(0)
	for i, v := range s {
		if i != 2 && i != 3 {
			sum = (sum&1)<<15 + sum>>1 + uint16(v)
		}
	}
	st := s[32:64]
	var name, folded []uint16
	for i := 0; i < int(st[3]); i++ {
		u := le.Uint16(s[64+i/15*32+2+i%15*2:])
		name, folded = append(name, u), append(folded, p.fold(u))
		for _, v := range []byte{byte(p.fold(u)), byte(p.fold(u) >> 8)} {
			hash = (hash&1)<<15 + hash>>1 + uint16(v)
		}
	}
	path := dir + "/" + string(utf16.Decode(name))
	if sum != le.Uint16(s[2:]) || hash != le.Uint16(st[4:]) || st[0] != 0xC0 || st[1]&1 == 0 || names[string(utf16.Decode(folded))] {
		panic(path + ": a wrong sum, hash or flag, or a name twice")
	}
	names[string(utf16.Decode(folded))] = true
	f := plainFile{dir: s[4]&0x10 != 0, noFat: st[1]&2 != 0, valid: le.Uint64(st[8:]), length: le.Uint64(st[24:]), set: bytes.Clone(s)}
	first := le.Uint32(st[20:])
	if f.length == 0 && (first != 0 || f.noFat) || f.valid > f.length || f.dir && (f.valid != f.length || f.length%uint64(p.cs) != 0) {
		panic(fmt.Sprintf("%s: %+v from %d", path, f, first))
	}
	f.clusters = p.stream(path, st, st[1])
	p.others(path, s[64+(int(st[3])+14)/15*32:])
	p.files[path] = f
	if f.dir {
		p.dir(path, f.clusters)
	}
}

// others takes what benign secondary entries own.
func (p *plain) others(path string, b []byte) {
	for ; len(b) > 0; b = b[32:] {
		if b[0]&0xE0 == 0xE0 && b[0] != 0xE0 && b[1]&1 != 0 {
			p.stream(path+" (other)", b, b[1])
		}
	}
}

// stream is the clusters that an entry names.
func (p *plain) stream(path string, e []byte, flags byte) (out []uint32) {
	first, length := binary.LittleEndian.Uint32(e[20:]), binary.LittleEndian.Uint64(e[24:])
	switch {
	case length == 0:
	case flags&2 == 0:
		out = p.chain(path, first, length)
	default:
		for i := range uint32((length + uint64(p.cs) - 1) / uint64(p.cs)) {
			p.own(path, first+i)
			out = append(out, first+i)
		}
	}
	return out
}

// data is what a file reads as: zeros behind what is valid.
func (p *plain) data(path string) []byte {
	f, ok := p.files[path]
	if !ok {
		panic(path + " is not there")
	}
	b := p.content(f.clusters)
	clear(b[min(f.valid, uint64(len(b))):])
	return b[:f.length]
}

// extents counts the runs of a file.
func (f plainFile) extents() (n int) {
	for i, c := range f.clusters {
		if i == 0 || f.clusters[i-1]+1 != c {
			n++
		}
	}
	return n
}

// sound reads all of d with the other implementation, and has our check go
// over it.
func sound(t testing.TB, d dev.Device) *plain {
	t.Helper()
	p, err := readPlain(d)
	must(t, err)
	drv := &vol.Driver{Problems: Problems(), Check: newChecker}
	res, err := vol.Fsck(context.Background(), d, drv, vol.CheckOptions{}, nil, nil)
	must(t, err)
	for _, o := range res.Outcomes {
		if o.Severity >= vol.SevWarning {
			t.Errorf("check: %s %s: %s", o.Slug, o.Loc.Path, o.Message())
		}
	}
	return p
}

func (p *plain) paths() (out []string) {
	for path := range p.files {
		out = append(out, path)
	}
	sort.Strings(out)
	return out
}
