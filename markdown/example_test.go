package markdown_test

import (
	"fmt"

	"github.com/botmesh-go/botmesh/markdown"
)

func ExampleSend() {
	s := markdown.Send("# Your order\n\n- **2** pizzas\n- [track it](https://example.org/7)")
	fmt.Println(s.Text)
	for _, span := range s.Spans {
		fmt.Printf("%s %q\n", span.Style, s.Text[span.From:span.To])
	}
	// Output:
	// Your order
	//
	// • 2 pizzas
	// • track it
	// bold "Your order"
	// bold "2"
	// link "track it"
}
