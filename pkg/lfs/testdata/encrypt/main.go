// Command encrypt has empty directories of a mounted volume encrypted, with a key
// that stays as long as it is mounted. Tests run it in a guest.
//
//	encrypt [-fold] MOUNT DIR...
package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	keyLen   = 64
	caseFold = 0x40000000 // [Linux] include/uapi/linux/fs.h FS_CASEFOLD_FL
)

func main() {
	fold := flag.Bool("fold", false, "fold case in them, too")
	flag.Parse()
	if err := run(*fold, flag.Arg(0), flag.Args()[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "encrypt:", err)
		os.Exit(1)
	}
}

func run(fold bool, mount string, dirs []string) error {
	id, err := addKey(mount)
	if err != nil {
		return fmt.Errorf("adding a key: %w", err)
	}
	for _, dir := range dirs {
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		p := unix.FscryptPolicyV2{
			Version: unix.FSCRYPT_POLICY_V2, Contents_encryption_mode: unix.FSCRYPT_MODE_AES_256_XTS,
			Filenames_encryption_mode: unix.FSCRYPT_MODE_AES_256_CTS, Flags: unix.FSCRYPT_POLICY_FLAGS_PAD_4, Master_key_identifier: id,
		}
		if err := ioctl(f, unix.FS_IOC_SET_ENCRYPTION_POLICY, unsafe.Pointer(&p)); err != nil {
			return fmt.Errorf("%s: its policy: %w", dir, err)
		}
		if fold {
			flags := uint32(0)
			if err := ioctl(f, unix.FS_IOC_GETFLAGS, unsafe.Pointer(&flags)); err != nil {
				return fmt.Errorf("%s: its flags: %w", dir, err)
			}
			flags |= caseFold
			if err := ioctl(f, unix.FS_IOC_SETFLAGS, unsafe.Pointer(&flags)); err != nil {
				return fmt.Errorf("%s: its flags: %w", dir, err)
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// addKey gives the volume a key and returns what the kernel calls it.
func addKey(mount string) (id [16]byte, err error) {
	f, err := os.Open(mount)
	if err != nil {
		return id, err
	}
	defer f.Close()
	var b bytes.Buffer
	arg := unix.FscryptAddKeyArg{Key_spec: unix.FscryptKeySpecifier{Type: unix.FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER}, Raw_size: keyLen}
	if err := binary.Write(&b, binary.NativeEndian, arg); err != nil {
		return id, err
	}
	for i := range keyLen {
		b.WriteByte(byte(i*7 + 1))
	}
	raw := b.Bytes()
	if err := ioctl(f, unix.FS_IOC_ADD_ENCRYPTION_KEY, unsafe.Pointer(&raw[0])); err != nil {
		return id, err
	}
	copy(id[:], raw[unsafe.Offsetof(arg.Key_spec)+unsafe.Offsetof(arg.Key_spec.U):])
	return id, nil
}

func ioctl(f *os.File, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}
