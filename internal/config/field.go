package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// field is one key of a Config.
type field struct {
	key      string
	fallback string
	oneof    []string
	help     string
	value    reflect.Value
}

// secret reports whether the value may hold a secret, so that it can also come
// from a file of its own.
func (f field) secret() bool {
	switch f.value.Interface().(type) {
	case Secret, URL:
		return true
	}
	return false
}

// fields lists the keys of c in order. Setting a field sets c.
func fields(c *Config) []field {
	var all []field
	var walk func(prefix string, v reflect.Value)
	walk = func(prefix string, v reflect.Value) {
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag
			key, inner := prefix+tag.Get("key"), v.Field(i)
			if _, leaf := tag.Lookup("help"); !leaf {
				walk(key+"_", inner)
				continue
			}
			all = append(all, field{
				key: key, fallback: tag.Get("default"), oneof: strings.Fields(tag.Get("oneof")),
				help: tag.Get("help"), value: inner,
			})
		}
	}
	walk("", reflect.ValueOf(c).Elem())
	return all
}

// set parses text into the field. The error says what would be right.
func (f field) set(text string) error {
	if len(f.oneof) > 0 && !slices.Contains(f.oneof, text) {
		return fmt.Errorf("must be one of: %s", strings.Join(f.oneof, ", "))
	}
	switch p := f.value.Addr().Interface().(type) {
	case *string:
		*p = text
	case *Secret:
		*p = NewSecret(text)
	case *URL:
		*p = NewURL(text)
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("must be a whole number, such as %s", f.fallback)
		}
		*p = n
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("must be a number with a unit, such as %s", f.fallback)
		}
		*p = d
	case *Rate:
		r, err := parseRate(text)
		if err != nil {
			return err
		}
		*p = r
	default:
		panic("config: no parser for the type of " + f.key)
	}
	return nil
}

// show writes the field for people, secrets masked.
func (f field) show() string { return fmt.Sprint(f.value.Interface()) }

// keys are all names that a source may set: the keys, and those of secrets with
// _file at the end.
func keys() []string {
	var all []string
	for _, f := range fields(&Config{}) {
		all = append(all, f.key)
		if f.secret() {
			all = append(all, f.key+fileSuffix)
		}
	}
	return all
}

// EnvName is the environment variable of a key: EnvName("nats_url") is
// "BOTMESH_NATS_URL".
func EnvName(key string) string { return envPrefix + strings.ToUpper(key) }

func flagName(key string) string { return "--" + strings.ReplaceAll(key, "_", "-") }
