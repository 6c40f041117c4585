package config

import "errors"

// Wrong marks an error that will stay until somebody changes the configuration,
// so that trying again is of no use: the program ends with code 2.
func Wrong(err error) error {
	if err == nil {
		return nil
	}
	return &wrong{err}
}

// IsWrong reports whether err was marked by [Wrong].
func IsWrong(err error) bool {
	var w *wrong
	return errors.As(err, &w)
}

type wrong struct{ err error }

func (w *wrong) Error() string { return w.err.Error() }
func (w *wrong) Unwrap() error { return w.err }
