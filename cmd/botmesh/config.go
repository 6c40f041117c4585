package main

type configCommand struct {
	Print configPrint `cmd:"" help:"Every setting, its value and where it comes from; secrets masked."`
}

type configPrint struct{ output }

// Run prints the settings.
func (c configPrint) Run(a *app) error {
	loaded, err := a.settings(nil)
	if err != nil {
		return err
	}
	return c.show(a.stdout, loaded.Values, loaded.Print)
}
