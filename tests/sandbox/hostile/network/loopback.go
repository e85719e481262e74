// verdicts: AC
// why: Go's own network stack and resolver
// time_limit_s: 1
package main

import (
	"fmt"
	"net"
	"time"
)

func main() {
	got := false
	if _, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		got = true
	}
	if _, err := net.DialTimeout("tcp", "127.0.0.1:@service_port@", 500*time.Millisecond); err == nil {
		got = true
	}
	if addresses, err := net.LookupHost("example.com"); err == nil {
		got = true
		fmt.Println(addresses)
	}
	if got {
		fmt.Println("connected")
	} else {
		fmt.Println("contained")
	}
}
