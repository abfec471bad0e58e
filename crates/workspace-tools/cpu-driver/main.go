// The CPU driver's own code on machines that are written down: which devices it publishes, and which CPUs claims get. Cases are
// drawn by `gen`, and answered by `run`, one a line.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		fatal(fmt.Errorf("gen or run"))
	}
	switch os.Args[1] {
	case "gen":
		flags := flag.NewFlagSet("gen", flag.ExitOnError)
		seed := flags.Uint64("seed", 1, "what is drawn from it")
		count := flags.Int("count", 500, "how many cases")
		if err := flags.Parse(os.Args[2:]); err != nil {
			fatal(err)
		}
		out := json.NewEncoder(os.Stdout)
		for number := range *count {
			drawn := draw(*seed, number)
			if err := out.Encode(Line{Id: fmt.Sprintf("cpu-driver-%04d", number), Case: drawn}); err != nil {
				fatal(err)
			}
		}
	case "run":
		out := json.NewEncoder(os.Stdout)
		lines := bufio.NewScanner(os.Stdin)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var line Line
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				fatal(err)
			}
			result := answer(line.Case)
			line.Result = &result
			if err := out.Encode(line); err != nil {
				fatal(err)
			}
		}
		if err := lines.Err(); err != nil {
			fatal(err)
		}
	default:
		fatal(fmt.Errorf("gen or run, and not %s", os.Args[1]))
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "cpu-driver:", err)
	os.Exit(1)
}
