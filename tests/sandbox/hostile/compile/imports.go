// verdicts: CE
// why: packages from the network, from files and from the toolchain's inside
package main

import (
	"./etc/passwd"
	"/etc/passwd"
	"cmd/internal/obj"
	"github.com/example/package"
	"internal/abi"
	"runtime/internal/sys"
)

func main() { passwd.X(); obj.X(); pkg.X(); abi.X(); sys.X() }
