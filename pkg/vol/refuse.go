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
