package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Input is where settings come from.
type Input struct {
	// Args are the program's arguments, without its name.
	Args []string
	// Environ are "KEY=value" pairs, as from os.Environ.
	Environ []string
	// Defaults are the program's own, by key, in place of those of [Config].
	Defaults map[string]string
}

// Value says what a key is set to and who set it.
type Value struct {
	Key string `json:"key"`
	// Value has its secrets masked.
	Value string `json:"value"`
	// Source is the flag, the environment variable or the line that set the key,
	// or "default".
	Source string `json:"source"`
}

// Loaded is what [Load] found.
type Loaded struct {
	Config
	// Values are all keys in the order of [Config].
	Values []Value
	// Rest are the arguments that are no settings.
	Rest []string
}

// Load reads and checks the settings. The error joins everything that is wrong,
// one line each, and says what would be right; it shows no secret. Rest is then
// still there.
func Load(in Input) (Loaded, error) {
	flags, rest, err := fromFlags(in.Args)
	if err != nil {
		return Loaded{}, err
	}
	env := fromEnviron(in.Environ)
	out := Loaded{Rest: rest}
	file, err := fromFile(flags, env)
	if err != nil {
		return out, err
	}

	winners := map[string]setting{}
	var problems []error
	for _, layer := range [][]setting{flags, env, file} { // the first that sets a key wins
		problems = append(problems, merge(winners, layer))
	}
	all := fields(&out.Config)
	for _, f := range all {
		s := winner(winners, in.Defaults, f)
		if s.text == "" {
			continue
		}
		if err := f.set(s.text); err != nil {
			problems = append(problems, fmt.Errorf("%s %w", s.named(), err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return out, err // a value that can not be read has no meaning to check
	}
	out.Prefix = cmp.Or(out.Prefix, "botmesh:"+out.Bot)
	for _, f := range all {
		source := winner(winners, in.Defaults, f).where
		out.Values = append(out.Values, Value{Key: f.key, Value: f.show(), Source: source})
	}
	return out, out.check()
}

// winner is the setting that counts for f, its default if nobody set it.
func winner(winners map[string]setting, defaults map[string]string, f field) setting {
	if s, ok := winners[f.key]; ok {
		return s
	}
	return setting{key: f.key, text: cmp.Or(defaults[f.key], f.fallback), where: "default"}
}

// fromFile reads the YAML file that the flags or the environment name, if any.
func fromFile(layers ...[]setting) ([]setting, error) {
	for _, layer := range layers {
		for _, s := range layer {
			if s.key != fileKey {
				continue
			}
			data, err := os.ReadFile(s.text)
			if err != nil {
				return nil, fmt.Errorf("%s: can not read the file of settings: %w", s.where, err)
			}
			return fromYAML(s.text, data)
		}
	}
	return nil, nil
}

// merge puts the settings of a layer among the winners where the key has none yet.
func merge(winners map[string]setting, layer []setting) error {
	known := keys()
	var problems []error
	here := map[string]setting{} // what this layer sets
	for _, s := range layer {
		if s.key == fileKey {
			continue
		}
		if !slices.Contains(known, s.key) {
			problems = append(problems, unknownKey(s, known))
			continue
		}
		s, err := resolve(s)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if first, ok := here[s.key]; ok {
			problems = append(problems, fmt.Errorf("%s: %s is also set by %s: leave one out", s.where, s.key, first.where))
			continue
		}
		here[s.key] = s
	}
	for key, s := range here {
		if _, ok := winners[key]; !ok {
			winners[key] = s
		}
	}
	return errors.Join(problems...)
}

// resolve reads the file that a key with _file names.
func resolve(s setting) (setting, error) {
	key, ok := strings.CutSuffix(s.key, fileSuffix)
	if !ok {
		return s, nil
	}
	data, err := os.ReadFile(s.text)
	if err != nil {
		return setting{}, fmt.Errorf("%s: can not read the file of %s: %w", s.where, key, err)
	}
	text := strings.TrimRight(string(data), "\r\n")
	if text == "" {
		return setting{}, fmt.Errorf("%s: the file %s is empty", s.where, s.text)
	}
	return setting{key: key, text: text, where: s.where}, nil
}
