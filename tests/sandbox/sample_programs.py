"""One small program per language and verdict, for tests of the service."""

import shutil

import pytest

from sandbox.languages import LANGUAGES

EACH = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            row.on_request and not shutil.which(row.tool, path="/usr/bin"),
            reason=f"{row.tool} is not installed: madrl install sandbox {name}",
        ),
    )
    for name, row in LANGUAGES.items()
]
"""Every language, as a test's parameter. One that is installed only when it is asked for is skipped where it is not."""

ADD = {
    "python": "a, b = map(int, input().split())\nprint(a + b)",
    "cpp": "#include <bits/stdc++.h>\nint main() { long long a, b; std::cin >> a >> b; std::cout << a + b; }",
    "c": '#include <stdio.h>\nint main(void) { long a, b; scanf("%ld %ld", &a, &b); printf("%ld", a + b); }',
    "java": "import java.util.Scanner;\npublic class Adder { public static void main(String[] args) {\n"
    "Scanner in = new Scanner(System.in); System.out.println(in.nextLong() + in.nextLong()); } }",
    "go": 'package main\nimport "fmt"\nfunc main() { var a, b int; fmt.Scan(&a, &b); fmt.Println(a + b) }',
    "javascript": "const [a, b] = require('fs').readFileSync('/dev/stdin', 'utf8').split(' ').map(Number)\n"
    "console.log(a + b)",
    "rust": "use std::io::*;\nfn main() { let mut s = String::new(); stdin().read_to_string(&mut s).unwrap();\n"
    "let n: Vec<i64> = s.split_whitespace().map(|w| w.parse().unwrap()).collect(); let (a, b) = (n[0], n[1]);\n"
    'println!("{}", a + b); }',
}

WRONG = {language: code.replace("a + b", "a - b").replace("+ in.next", "- in.next") for language, code in ADD.items()}

CRASH = {
    "python": "raise ValueError('boom')",
    "cpp": "int main() { return 3; }",
    "c": "#include <stdlib.h>\nint main(void) { abort(); }",
    "java": 'class Main { public static void main(String[] a) { throw new RuntimeException("boom"); } }',
    "go": 'package main\nfunc main() { panic("boom") }',
    "javascript": "throw new Error('boom')",
    "rust": 'fn main() { panic!("boom") }',
}

SPIN = {
    "python": "while True: pass",
    "cpp": "int main() { for (volatile int i = 0;; i = i + 1) {} }",
    "c": "int main(void) { for (volatile int i = 0;; i = i + 1) {} }",
    "java": "class Main { public static void main(String[] a) { for (long i = 0;; i++) if (i < 0) System.exit(1); } }",
    "go": "package main\nfunc main() { for { } }",
    "javascript": "for (;;) {}",
    "rust": "fn main() { loop { std::thread::yield_now() } }",
}

BROKEN = {
    "python": "print('unfinished",
    "cpp": "int main() { return undeclared; }",
    "c": "int main(void) { return undeclared; }",
    "java": 'public class Main { public static void main(String[] a) { int x = "text"; } }',
    "go": "package main\nfunc main() { undeclared() }",
    "javascript": "let = = 3",
    "rust": 'fn main() { let x: i32 = "text"; }',
}

HOARD = {
    "python": "x = []\nwhile True: x.append(bytearray(1 << 20))",
    "cpp": "#include <cstring>\n#include <cstdlib>\nint main() { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }",
    "c": "#include <string.h>\n#include <stdlib.h>\nint main(void) { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }",
    "java": "import java.util.*;\nclass Main { public static void main(String[] a) {\n"
    "List<byte[]> l = new ArrayList<>(); for (;;) l.add(new byte[1 << 20]); } }",
    "go": "package main\nvar kept [][]byte\nfunc main() { for { b := make([]byte, 1<<20)\n"
    "for i := range b { b[i] = 1 }; kept = append(kept, b) } }",
    "javascript": "const kept = []; for (;;) kept.push(Buffer.alloc(1 << 20, 1))",
    "rust": "fn main() { let mut kept = Vec::new(); loop { kept.push(vec![1u8; 1 << 20]); } }",
}

FLOOD = {
    "python": "while True: print('x' * 65536)",
    "cpp": '#include <cstdio>\nint main() { for (;;) puts("sixteen letters."); }',
    "c": '#include <stdio.h>\nint main(void) { for (;;) puts("sixteen letters."); }',
    "java": 'class Main { public static void main(String[] a) { String s = "x".repeat(65536);\n'
    "for (;;) System.out.println(s); } }",
    "go": 'package main\nimport ("os"; "strings")\nfunc main() { s := strings.Repeat("x", 65536)\n'
    "for { os.Stdout.WriteString(s) } }",
    "javascript": "const s = 'x'.repeat(65536); for (;;) require('fs').writeSync(1, s)",
    "rust": 'fn main() { let s = "x".repeat(65536); loop { println!("{}", s); } }',
}
