package main

import (
	"encoding/json"
	"io"
)

// output is the choice of every command that shows something.
type output struct {
	Output string `short:"o" enum:"text,json" default:"text" help:"text for people or json for programs."`
}

// show writes v as JSON, or what text writes.
func (o output) show(w io.Writer, v any, text func(io.Writer) error) error {
	if o.Output == "text" {
		return text(w)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
