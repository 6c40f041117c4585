package demo

import (
	"strings"

	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

// quiz has no state: what is answered within a script step is recorded there.
type quiz struct{}

const askAll flow.Step[quiz] = "questions"

// quizFlow is a script: its questions are asked in straight-line code, and each
// answer may be read by another replica.
func quizFlow() *flow.Flow[quiz] {
	f := flow.New[quiz]("quiz", flow.Trigger("/quiz"))
	flow.Script(f, askAll, func(c *flow.Talk[quiz]) (flow.Next, error) {
		score := 0
		for _, q := range []struct{ name, prompt, answer string }{
			{"sum", "What is 2 + 2?", "4"},
			{"capital", "What is the capital of France?", "Paris"},
			{"product", "What is 3 * 3?", "9"},
		} {
			said, err := flow.Await(c, q.name, ask.Text(), q.prompt)
			if err != nil {
				return flow.Next{}, err
			}
			if strings.EqualFold(said, q.answer) {
				score++
			}
		}
		c.Sayf("score: %d/3", score)
		return c.End(), nil
	}, flow.Asks("sum", "capital", "product"))
	return f
}
