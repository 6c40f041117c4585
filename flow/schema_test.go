package flow_test

import (
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/flow"
)

type node struct {
	Name string  `json:"name"`
	Next []*node `json:"next"`
}

type embedded struct {
	Inner int `json:"inner"`
}

type Shared struct {
	Inner int `json:"inner"`
}

// onlyOut can be encoded and not decoded.
type onlyOut struct{}

func (onlyOut) MarshalText() ([]byte, error) { return nil, nil }

func TestSchemaNamesWhatJSONKeeps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[int](), "int"},
		{reflect.TypeFor[struct {
			B string  `json:"b"`
			A float64 `json:"a,omitempty"`
			C bool
		}](), "{C:bool,a:float,b:string}"},
		{reflect.TypeFor[struct {
			At    time.Time         `json:"at"`
			Big   *big.Int          `json:"big"`
			Raw   []byte            `json:"raw"`
			List  []*uint8          `json:"list"`
			Map   map[string]int    `json:"map"`
			Times map[time.Time]int `json:"times"`
			Text  int               `json:"text,string"`
		}](), "{at:time.Time,big:*big.Int,list:[]int,map:map[string]int,raw:bytes,text:quoted int,times:map[time.Time]int}"},
		{reflect.TypeFor[struct {
			Shared
			Own int `json:"own"`
		}](), "{inner:int,own:int}"},
		{reflect.TypeFor[node](), "{name:string,next:[]flow_test.node}"},
		{reflect.TypeFor[struct{ Root node }](), "{Root:{name:string,next:[]flow_test.node}}"},
	} {
		got, err := flow.Schema(tt.typ)
		if err != nil || got != tt.want {
			t.Errorf("Schema(%s): got %q, %v, want %q", tt.typ, got, err, tt.want)
		}
	}
}

// SPEC: H6. State that would not survive is refused, by name.
func TestSchemaRefusesByName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[struct{ F func() }](), ".F is of kind func"},
		{reflect.TypeFor[struct{ C chan int }](), ".C is of kind chan"},
		{reflect.TypeFor[struct{ I any }](), ".I is of kind interface"},
		{reflect.TypeFor[struct{ E error }](), ".E is of kind interface"},
		{reflect.TypeFor[struct{ List []map[string]any }](), ".List[][] is of kind interface"},
		{reflect.TypeFor[struct{ secret int }](), ".secret is unexported"},
		{reflect.TypeFor[struct{ embedded }](), ".embedded is unexported"},
		{reflect.TypeFor[struct {
			Out int `json:"-"`
		}](), `.Out is tagged json:"-"`},
		{reflect.TypeFor[struct {
			Shared
			Inner int `json:"inner"`
		}](), `.Inner is a second field that is "inner" in JSON`},
		{reflect.TypeFor[struct{ Z complex128 }](), ".Z is of kind complex128"},
		{reflect.TypeFor[struct{ M json.Marshaler }](), ".M is of kind interface"},
		{reflect.TypeFor[struct{ M map[float64]int }](), ".M is a map with keys of type float64"},
		{reflect.TypeFor[struct{ O onlyOut }](), ".O is a flow_test.onlyOut, which can be encoded but not decoded"},
		{reflect.TypeFor[struct {
			time.Time
			Note string
		}](), "embeds Time, whose encoding would take its place"},
	} {
		_, err := flow.Schema(tt.typ)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Schema(%s): got error %v, want %q in it", tt.typ, err, tt.want)
		}
	}
}

func TestSchemaNamesEveryFault(t *testing.T) {
	t.Parallel()
	_, err := flow.Schema(reflect.TypeFor[struct {
		F func()
		C chan int
	}]())
	if err == nil || !strings.Contains(err.Error(), ".F ") || !strings.Contains(err.Error(), ".C ") {
		t.Errorf("got error %v, want both fields in it", err)
	}
}
