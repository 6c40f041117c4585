package provider

import (
	"encoding/json"
	"errors"
	"fmt"
)

// MaxDepth bounds how deep the JSON of a webhook may be nested.
const MaxDepth = 64

// DecodeJSON reads body, which is one JSON object, into v. Its error says what is
// wrong with the body, and where, in words that may be shown to whoever sent it.
//
// A body that is a JSON object but does not fit v is an
// *[json.UnmarshalTypeError]; v then holds whatever does fit.
func DecodeJSON(body []byte, v any) error {
	if err := checkShape(body); err != nil {
		return err
	}
	err := json.Unmarshal(body, v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("provider: broken JSON at byte %d: %w", syntax.Offset, err)
	}
	return err
}

// checkShape refuses what is not an object and what is nested too deep, in one
// pass and without parsing, so that nothing recursive ever sees such a body.
func checkShape(body []byte) error {
	depth, quoted := 0, false
	begun := false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted, c == ' ', c == '\t', c == '\n', c == '\r':
			continue
		case c == '{', c == '[':
			if depth++; depth > MaxDepth {
				return fmt.Errorf("provider: JSON nested deeper than %d at byte %d", MaxDepth, i)
			}
		case c == '}', c == ']':
			depth--
		}
		if !begun && body[i] != '{' {
			return errors.New("provider: the body is not a JSON object")
		}
		begun = true
	}
	if !begun {
		return errors.New("provider: the body is empty")
	}
	return nil
}
