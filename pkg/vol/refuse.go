package vol

import (
	"fmt"
	"io/fs"
	"strings"
)

// Usagef is an ErrUsage that says what is wrong with an option.
func Usagef(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUsage, fmt.Sprintf(format, args...))
}

// Refusef is an ErrRequest that says why, and what would work.
func Refusef(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRequest, fmt.Sprintf(format, args...))
}

// Dirtyf is an ErrDirty that says why a check must come first; it wraps what %w is for.
func Dirtyf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrDirty, fmt.Errorf(format, args...))
}

// DamagedAt is an ErrDamaged that says what is broken of path, and what to do; it
// wraps what %w is for.
func DamagedAt(path, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w; run check first", ErrDamaged, path, fmt.Errorf(format, args...))
}

// Misread is what verifying a change returns where path does not read back as it
// was staged: a mistake of the format package, which must not reach the disk.
func Misread(path, format string, args ...any) error {
	return fmt.Errorf("%s: the change does not read back as planned, nothing is written: %w", path, fmt.Errorf(format, args...))
}

// Saying is an error that is all of what, as errors.Is tells, and says text alone:
// for what would be read twice in one line.
func Saying(text string, what ...error) error { return &saying{text, what} }

type saying struct {
	text string
	what []error
}

func (s *saying) Error() string   { return s.text }
func (s *saying) Unwrap() []error { return s.what }

// Because is an ErrRequest about what, which wraps why. A reason that is one itself
// does not say so again.
func Because(what string, why error) error {
	prefix := ErrRequest.Error() + ": "
	return Saying(prefix+what+": "+strings.ReplaceAll(why.Error(), prefix, ""), ErrRequest, why)
}

// Existsf is fs.ErrExist that says what is there.
func Existsf(format string, args ...any) error {
	return Saying(fmt.Sprintf(format, args...), fs.ErrExist)
}
