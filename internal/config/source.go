package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	envPrefix  = "BOTMESH_"
	fileSuffix = "_file"
	fileKey    = "config" // names the YAML file; not a setting of its own
)

// setting is a key as one source gives it.
type setting struct {
	key   string
	text  string
	where string // how its owner finds it: the flag, the variable, the line
}

// named is where the setting is, and its key unless that names it already.
func (s setting) named() string {
	if s.where == EnvName(s.key) || s.where == flagName(s.key) {
		return s.where
	}
	return s.where + ": " + s.key
}

// fromFlags takes the settings out of args and gives back the other arguments. A
// flag is --key=value or --key value; after "--" nothing is one.
func fromFlags(args []string) (found []setting, rest []string, err error) {
	known := append(keys(), fileKey)
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return found, append(rest, args[i:]...), nil
		}
		name, text, hasText := strings.Cut(args[i], "=")
		key := strings.ReplaceAll(strings.TrimPrefix(name, "--"), "-", "_")
		if !strings.HasPrefix(name, "--") || flagName(key) != name || !slices.Contains(known, key) {
			rest = append(rest, args[i])
			continue
		}
		if !hasText {
			if i++; i == len(args) {
				return nil, nil, fmt.Errorf("%s: needs a value", name)
			}
			text = args[i]
		}
		found = append(found, setting{key: key, text: text, where: name})
	}
	return found, rest, nil
}

// fromEnviron reads "BOTMESH_KEY=value" pairs. A variable without a value sets nothing.
func fromEnviron(environ []string) []setting {
	var found []setting
	for _, pair := range environ {
		name, text, _ := strings.Cut(pair, "=")
		if text == "" || !strings.HasPrefix(name, envPrefix) || strings.HasPrefix(name, foreign) {
			continue
		}
		key := strings.ToLower(strings.TrimPrefix(name, envPrefix))
		found = append(found, setting{key: key, text: text, where: name})
	}
	return found
}

// fromYAML reads a file of keys. "nats: {url: x}" is "nats_url: x".
func fromYAML(path string, data []byte) ([]setting, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: not YAML: %w", path, err)
	}
	if doc.Kind == 0 {
		return nil, nil // an empty file
	}
	var found []setting
	var walk func(prefix string, n *yaml.Node) error
	walk = func(prefix string, n *yaml.Node) error {
		if n.Kind != yaml.MappingNode {
			return fmt.Errorf("%s:%d: want keys with values, such as bot: demo", path, n.Line)
		}
		for i := 0; i < len(n.Content); i += 2 {
			name, value := n.Content[i], n.Content[i+1]
			key := prefix + name.Value
			switch {
			case value.Kind == yaml.MappingNode:
				if err := walk(key+"_", value); err != nil {
					return err
				}
			case value.Kind != yaml.ScalarNode:
				return fmt.Errorf("%s:%d: %s: want one value", path, value.Line, key)
			case value.Tag != "!!null":
				found = append(found, setting{key: key, text: value.Value, where: path + ":" + strconv.Itoa(name.Line)})
			}
		}
		return nil
	}
	if err := walk("", doc.Content[0]); err != nil {
		return nil, err
	}
	return found, nil
}
