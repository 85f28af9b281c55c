//go:build linux
package voltest
import ("testing";"time";"os";"path/filepath";"os/exec";"strings")
func TestZZ(t *testing.T) {
	dir := t.TempDir()
	im := filepath.Join(dir,"a,b.img")
	os.WriteFile(im, nil, 0o644); os.Truncate(im, 64<<20)
	exec.Command("mkfs.exfat", im).Run()
	for _, k := range StockKernels(t) {
		t0 := time.Now()
		t.Logf("%s %v %v\n%s", k.Release(), k.AtLeast(6,8), time.Since(t0), k.Run(t, `uname -r; ls -la /dev/vd* ; lsmod; cat /proc/filesystems|grep -v nodev; mkdir m; mount -t exfat $1 m && echo hi >m/ü😀; ls m; find m -type f -exec stat -c '%s  %n' {} + ;umount m; cat /proc/uptime`, im))
		t.Log(time.Since(t0))
	}
	_ = strings.Cut
}
