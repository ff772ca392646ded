// The parser of Go as a judge of texts: go/parser, of the standard library.
//
// It reads texts from its standard input and answers each on its standard output with what the
// parser says, or nothing if it accepts the text. A text and an answer are their number of bytes, in
// decimal, a line break, and the bytes.
package main

import (
	"bufio"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
)

func main() {
	texts := bufio.NewReader(os.Stdin)
	for {
		var size int
		if _, err := fmt.Fscanf(texts, "%d\n", &size); err != nil {
			return
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(texts, text); err != nil {
			return
		}
		said := ""
		if _, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution); err != nil {
			said = err.Error()
		}
		fmt.Printf("%d\n%s", len(said), said)
	}
}
