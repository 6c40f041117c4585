package config

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Print writes every key with its value and its source, secrets masked.
func (l Loaded) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KEY\tVALUE\tSOURCE") // errors come from Flush
	for _, v := range l.Values {
		fmt.Fprintf(t, "%s\t%s\t%s\n", v.Key, v.Value, v.Source)
	}
	return t.Flush()
}

// Usage writes every setting with its flag, its variable, its default and what it
// does.
func Usage(w io.Writer, defaults map[string]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range fields(&Config{}) {
		fallback := f.fallback
		if d, ok := defaults[f.key]; ok {
			fallback = d
		}
		if fallback != "" {
			fallback = " (" + fallback + ")"
		}
		names := flagName(f.key)
		if f.secret() {
			names += "[-file]"
		}
		fmt.Fprintf(t, "  %s\t%s%s\n", names, f.help, fallback)
	}
	fmt.Fprintf(t, "  %s\t%s\n", flagName(fileKey), "YAML file with more of these")
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nEach is also an environment variable, %s for %s, and a key of the file, nats_url.\nThe first of flag, environment and file that sets a key wins.\n",
		EnvName("nats_url"), flagName("nats_url"))
	return err
}
