package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/fatkit/fatkit/pkg/vol"
	"github.com/fatkit/fatkit/pkg/vol/source"
)

// tarSink writes a tar archive in PAX format, which keeps all that the formats
// hold.
type tarSink struct {
	w     *tar.Writer
	f     *os.File // nil: standard output
	holds vol.Holds
}

func (a *app) newTarSink(name string) (*tarSink, error) {
	if name == "-" {
		return &tarSink{w: tar.NewWriter(a.out)}, nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	return &tarSink{w: tar.NewWriter(f), f: f}, nil
}

// close ends the archive. After an error a file that was made for it is removed.
func (s *tarSink) close(failed error) error {
	if failed == nil {
		failed = s.w.Close()
	}
	if s.f == nil {
		return failed
	}
	err := errors.Join(failed, s.f.Close())
	if err != nil {
		return errors.Join(err, os.Remove(s.f.Name()))
	}
	return nil
}

func (s *tarSink) from(h vol.Holds) { s.holds = h }

// header is what an entry has beside its contents.
func (s *tarSink) header(name string, n *vol.Node, flag byte) *tar.Header {
	h := &tar.Header{Typeflag: flag, Name: name, Mode: int64(n.Mode), ModTime: n.Modified, Format: tar.FormatPAX}
	if !s.holds.Modes {
		h.Mode = int64(defaultMode(n))
	}
	if s.holds.Owners {
		h.Uid, h.Gid = int(n.UID), int(n.GID)
	}
	for _, x := range n.Xattrs {
		if h.PAXRecords == nil {
			h.PAXRecords = map[string]string{}
		}
		h.PAXRecords[source.XattrRecord(x.Name)] = string(x.Value)
	}
	return h
}

func (s *tarSink) dir(name string, n *vol.Node) error {
	if name == "" {
		name = "."
	}
	return s.w.WriteHeader(s.header(name+"/", n, tar.TypeDir))
}

func (s *tarSink) file(ctx context.Context, name string, n *vol.Node, in io.ReaderAt, _ []vol.Mapping) error {
	h := s.header(name, n, tar.TypeReg)
	h.Size = n.Size
	if err := s.w.WriteHeader(h); err != nil {
		return err
	}
	return pump(ctx, s.w, in, n.Size)
}

func (s *tarSink) other(name string, n *vol.Node) error {
	flag := map[vol.Kind]byte{vol.KindSymlink: tar.TypeSymlink, vol.KindFIFO: tar.TypeFifo,
		vol.KindChar: tar.TypeChar, vol.KindBlock: tar.TypeBlock}[n.Kind]
	if flag == 0 {
		return fmt.Errorf("%w: a tar archive cannot hold a %s", errNoPlace, n.Kind)
	}
	h := s.header(name, n, flag)
	h.Linkname = n.Link
	h.Devmajor, h.Devminor = int64(n.Major), int64(n.Minor)
	return s.w.WriteHeader(h)
}

func (s *tarSink) same(name, before string, n *vol.Node) error {
	h := s.header(name, n, tar.TypeLink)
	h.Linkname = before
	return s.w.WriteHeader(h)
}

func (*tarSink) done() error { return nil }
