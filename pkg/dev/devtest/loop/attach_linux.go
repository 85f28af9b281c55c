package loop

import (
	"errors"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fatkit/fatkit/pkg/dev/devtest/needs"
)

// Attach is a loop device over the file image, until the test ends. It needs root.
func Attach(t testing.TB, image string) (device string) {
	t.Helper()
	back, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	ctl, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		needs.Lacks(t, "no loop devices: %v", err)
	}
	defer ctl.Close()
	n, err := unix.IoctlRetInt(int(ctl.Fd()), unix.LOOP_CTL_GET_FREE)
	if err != nil {
		needs.Lacks(t, "no loop device: %v", err)
	}
	device = "/dev/loop" + strconv.Itoa(n)
	loop, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		needs.Lacks(t, "no loop device: %v", err)
	}
	if err := unix.IoctlSetInt(int(loop.Fd()), unix.LOOP_SET_FD, int(back.Fd())); err != nil {
		loop.Close()
		needs.Lacks(t, "no loop device: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(unix.IoctlSetInt(int(loop.Fd()), unix.LOOP_CLR_FD, 0), loop.Close()); err != nil {
			t.Errorf("%s: %v", device, err)
		}
	})
	return device
}
