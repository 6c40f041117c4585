package flow

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Schema writes what JSON keeps of a type, by JSON name and kind, whatever the
// order of its fields: {item:string,quantity:int}. Two types of one schema read
// each other's values.
//
// The error names every field that would not survive encoding and decoding
// unchanged: funcs, channels, interfaces, unexported fields, fields that JSON
// leaves out, two fields of one JSON name.
func Schema(t reflect.Type) (string, error) {
	w := schemaWalk{}
	s := w.schema(t, t.String())
	return s, errors.Join(w.faults...)
}

type schemaWalk struct {
	within []reflect.Type // the structs around this place, against endless recursion
	faults []error
}

func (w *schemaWalk) refuse(path, format string, args ...any) string {
	w.faults = append(w.faults, fmt.Errorf("%s %s", path, fmt.Sprintf(format, args...)))
	return "?"
}

// schema writes t, found at path.
func (w *schemaWalk) schema(t reflect.Type, path string) string {
	if encodes, decodes := encodesItself(t); encodes {
		if field, ok := embedsEncoding(t); ok {
			return w.refuse(path, "embeds %s, whose encoding would take its place: give the field a name", field)
		}
		if !decodes {
			return w.refuse(path, "is a %s, which can be encoded but not decoded", t)
		}
		return t.String()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "bool"
	case reflect.String:
		return "string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return "int"
	case reflect.Float32, reflect.Float64:
		return "float"
	case reflect.Pointer:
		return w.schema(t.Elem(), path)
	case reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + w.schema(t.Elem(), path+"[]")
	case reflect.Map:
		return w.mapping(t, path)
	case reflect.Struct:
		return w.structure(t, path)
	default:
		return w.refuse(path, "is of kind %s, which can not be encoded", t.Kind())
	}
}

// encodesItself reports whether t has an encoding of its own, and whether it can
// read that back.
func encodesItself(t reflect.Type) (encodes, decodes bool) {
	p := t
	if t.Kind() != reflect.Pointer {
		p = reflect.PointerTo(t)
	}
	switch {
	case p.Implements(reflect.TypeFor[json.Marshaler]()):
		return true, p.Implements(reflect.TypeFor[json.Unmarshaler]())
	case p.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return true, p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	}
	return false, false
}

func (w *schemaWalk) mapping(t reflect.Type, path string) string {
	key := w.schema(t.Key(), path+"[key]")
	if _, decodes := encodesItself(t.Key()); key != "string" && key != "int" && !decodes {
		key = w.refuse(path, "is a map with keys of type %s, which can not be encoded", t.Key())
	}
	return "map[" + key + "]" + w.schema(t.Elem(), path+"[]")
}

func (w *schemaWalk) structure(t reflect.Type, path string) string {
	if slices.Contains(w.within, t) {
		return t.String()
	}
	w.within = append(w.within, t)
	defer func() { w.within = w.within[:len(w.within)-1] }()

	fields := map[string]string{}
	w.fields(t, path, fields)
	list := make([]string, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		list = append(list, name+":"+fields[name])
	}
	return "{" + strings.Join(list, ",") + "}"
}

// fields adds the schema of each field to into, by JSON name, those of embedded
// structs among them.
func (w *schemaWalk) fields(t reflect.Type, path string, into map[string]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := path + "." + f.Name
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case !f.IsExported():
			w.refuse(at, "is unexported, so it is not encoded")
			continue
		case tag == "-":
			w.refuse(at, `is tagged json:"-", so it is not encoded`)
			continue
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			w.fields(f.Type, at, into)
			continue
		case name == "":
			name = f.Name
		}
		if into[name] != "" {
			w.refuse(at, "is a second field that is %q in JSON", name)
		}
		into[name] = w.schema(f.Type, at)
		if slices.Contains(strings.Split(options, ","), "string") {
			into[name] = "quoted " + into[name]
		}
	}
}

// embedsEncoding returns the embedded field whose encoding would take the place of
// its struct's, if there is one.
func embedsEncoding(t reflect.Type) (field string, ok bool) {
	if t.Kind() != reflect.Struct {
		return "", false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if encodes, _ := encodesItself(f.Type); f.Anonymous && encodes {
			return f.Name, true
		}
	}
	return "", false
}
