package vol

import "fmt"

// Usagef is an ErrUsage that says what is wrong with an option.
func Usagef(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUsage, fmt.Sprintf(format, args...))
}

// Refusef is an ErrRequest that says why, and what would work.
func Refusef(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRequest, fmt.Sprintf(format, args...))
}
