"""Programs in the five languages, put together from statements in many styles, each text another one.

A program reads two numbers, computes and prints. ``@n @m @s @f`` stand for names, ``@a @b`` for numbers. Names that are
words of other languages (``print``, ``end``, ``local``, ``val``) are among them.
"""

# ruff: noqa: E501 - one style a line or two

import random
from typing import NamedTuple

NAMES = (
    "n",
    "m",
    "k",
    "x",
    "total",
    "count",
    "res",
    "acc",
    "best",
    "cur",
    "val",
    "local",
    "echo",
    "puts",
    "my",
    "low",
    "cat",
)
FUNCTIONS = ("solve", "print", "println", "writeln", "twice", "readLine", "helper", "gets", "fun", "sub", "run")  # fmt: skip


class Style(NamedTuple):
    """One way of writing programs in a language."""

    head: tuple[str, ...]
    reads: tuple[str, ...]
    works: tuple[str, ...]
    shows: tuple[str, ...]
    foot: str = ""


_CPP_HEADS = (
    "#include <bits/stdc++.h>\nusing namespace std;\n", "#include <iostream>\n#include <vector>\nusing namespace std;\n",
    "#include<iostream>\n#include<cstdio>\n#include<algorithm>\nusing namespace std;\ntypedef long long ll;\n",
    "#pragma GCC optimize(\"O3\")\n#include <bits/stdc++.h>\nusing namespace std;\n#define int long long\n",
)  # fmt: skip
_CPP_MACROS = """#define rep(i,n) for(int i=0;i<(n);i++)
#define FOR(i,a,b) for(int i=(a);i<(b);++i)
#define each(x,v) for(auto&x:v)
#define all(x) x.begin(),x.end()
#define println(x) cout<<(x)<<'\\n'
#define read(x) cin>>x
#define until(c) while(!(c))
"""

STYLES = {
    "cpp": (
        Style(
            _CPP_HEADS, ("int @n, @m;\nint main() {\n    cin >> @n >> @m;\n", "int main(void)\n{\n\tlong long @n, @m;\n\tscanf(\"%lld %lld\", &@n, &@m);\n"),
            ("    for (int i = 0; i < @a; i++) {\n        @n += i;\n    }\n", "    vector<int> @s(@a, @b);\n", "    auto @f = [&](int x) { return x * @a; };\n    @n = @f(@n);\n",
             "    map<int, int> @s;\n    for (auto &[k1, v1] : @s) @n += v1;\n", "    if (@n > @a) @n--; else @n++;\n", "    string @s = \"print(x)\";\n", "    // print the answer\n", "    puts(\"function let\");\n"),
            ("    cout << @n + @m << endl;\n    return 0;\n", "    printf(\"%d\\n\", (int)(@n + @m));\n", "    std::cout << @n + @m << '\\n';\n"), "}\n",
        ),
        Style(
            tuple(head + _CPP_MACROS for head in _CPP_HEADS), ("int32_t main() {\n    int @n, @m;\n    read(@n);\n    read(@m);\n", "void go() {\n    long long @n, @m;\n    cin>>@n>>@m;\n"),
            ("    rep(i, @a) {\n        @n += i;\n    }\n", "    rep(i,@a) @n += i;\n", "    vector<int> @s(@a);\n    each(e, @s) {\n        @n += e;\n    }\n", "    FOR(i, 1, @a) rep(j, @b) {\n        @n += i * j;\n    }\n",
             "    until(@n < @a) {\n        @n -= @b;\n    }\n", "    vector<int> @s(@a);\n    sort(all(@s));\n"),
            ("    println(@n + @m);\n", "    cout << @n + @m << endl;\n"), "}\n",
        ),
        Style(
            tuple(f"{head}template <class T> void @f(T x) {{ cout << x << endl; }}\nstruct Node {{ int v; Node *next; }};\n" for head in _CPP_HEADS),
            ("int main() {\n    ios::sync_with_stdio(false); cin.tie(nullptr);\n    int @n, @m; cin >> @n >> @m;\n",), ("    Node *p = new Node{@n, nullptr};\n    @n = p->v;\n", "    priority_queue<pair<int,int>> @s;\n    @s.push({@a, @b});\n", "    set<int> @s{@a, @b};\n"),
            ("    @f(@n + @m);\n", "    @f<long long>(@n + @m);\n"), "}\n",
        ),
    ),
    "java": (
        Style(
            ("import java.util.*;\n\npublic class Main {\n    public static void main(String[] args) {\n", "import java.util.Scanner;\nclass Main{\n    static int @f(int x){ return x * 2; }\n    public static void main(String args[]){\n"),
            ("        Scanner sc = new Scanner(System.in);\n        int @n = sc.nextInt();\n        int @m = sc.nextInt();\n",),
            ("        for (int i = 0; i < @a; i++) {\n            @n += i;\n        }\n", "        int[] @s = new int[@a];\n        for (int v : @s) @n += v;\n", "        List<Integer> @s = new ArrayList<>();\n        @s.add(@a);\n",
             "        Map<String, Integer> @s = new HashMap<>();\n        @s.merge(\"let\", 1, Integer::sum);\n", "        var @s = List.of(@a, @b).stream().mapToInt(x -> x).sum();\n", "        @n = switch (@n) { case @a -> @b; default -> @n; };\n"),
            ("        System.out.println(@n + @m);\n", "        System.out.printf(\"%d%n\", @n + @m);\n"), "    }\n}\n",
        ),
        Style(
            ("import java.io.*;\nimport java.util.*;\n\nclass Solution {\n    static void @f(Object x) { System.out.println(x); }\n    record Pair(int a, int b) {}\n    public static void main(String[] args) throws IOException {\n",),
            ("        BufferedReader br = new BufferedReader(new InputStreamReader(System.in));\n        StringTokenizer st = new StringTokenizer(br.readLine());\n        int @n = Integer.parseInt(st.nextToken()), @m = @a;\n",),
            ("        while (@n > @a) @n -= @b;\n", "        StringBuilder @s = new StringBuilder();\n        @s.append(@n);\n", "        long[][] @s = new long[@a][@b];\n"), ("        @f(@n + @m);\n",), "    }\n}\n",
        ),
        Style(
            ("class Solution {\n",), ("    int @f(int @n, int @m) {\n", "    public long @f(int @n, int @m) {\n", "    static int @f(int @n, int @m) {\n"),
            ("        int @s = @n * @a;\n        @n += @s;\n", "        for (int i = 0; i < @a; i++) {\n            @n += i;\n        }\n", "        int[] @s = {@a, @b};\n        for (int v : @s) @n += v;\n", "        if (@n > @a) return @b;\n"), ("        return @n + @m;\n    }\n",), "}\n",
        ),
    ),
    "go": (
        Style(
            ("package main\n\nimport \"fmt\"\n\nfunc main() {\n", "package main\n\nimport (\n\t\"bufio\"\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc main() {\n\t_ = bufio.NewReader(os.Stdin)\n"),
            ("\tvar @n, @m int\n\tfmt.Scan(&@n, &@m)\n",), ("\tfor i := 0; i < @a; i++ {\n\t\t@n += i\n\t}\n", "\t@s := make([]int, @a)\n\tfor _, v := range @s {\n\t\t@n += v\n\t}\n", "\t@f := func(x int) int { return x * @a }\n\t@n = @f(@n)\n",
             "\t@s := map[int]string{@a: \"class\"}\n\t_ = @s\n", "\tif @n > @a {\n\t\t@n--\n\t} else {\n\t\t@n++\n\t}\n", "\tch := make(chan int, @a)\n\tgo func() { ch <- @b }()\n\t@n += <-ch\n"),
            ("\tfmt.Println(@n + @m)\n", "\tfmt.Printf(\"%d\\n\", @n+@m)\n"), "}\n",
        ),
        Style(
            ("package main\n\nimport . \"fmt\"\n\ntype number interface{ ~int | ~int64 }\n\nfunc @f[T number](a, b T) T {\n\treturn a + b\n}\n\ntype stack struct{ data []int }\n\nfunc (s *stack) push(x int) { s.data = append(s.data, x) }\n\nfunc main() {\n",),
            ("\tvar @n, @m int\n\tScan(&@n, &@m)\n",), ("\ts := &stack{}\n\ts.push(@a)\n", "\tdefer func() { recover() }()\n", "\tswitch {\n\tcase @n > @a:\n\t\t@n = @b\n\t}\n"), ("\tPrintln(@f(@n, @m))\n", "\tprintln(@n + @m)\n"), "}\n",
        ),
    ),
    "python": (
        Style(
            ("", "import sys\ninput = sys.stdin.readline\n", "from collections import defaultdict, deque\nimport math\n", "#!/usr/bin/env python3\n"),
            ("@n = int(input())\n@m = int(input())\n", "@n, @m = map(int, input().split())\n", "@n, @m, *_ = [int(x) for x in open(0).read().split()]\n"),
            ("for i in range(@a):\n    @n += i\n", "@s = [i * i for i in range(@a) if i % 2]\n", "def @f(x: int) -> int:\n    return x * @a\n@n = @f(@n)\n", "if @n > @a: @n -= 1\n", "@s = {}\n@s[@a] = '<?php'\n", "while @n > @a:\n    @n -= @b\nelse:\n    pass\n",
             "match @n:\n    case @a:\n        @n = @b\n    case _:\n        pass\n", "@s = lambda x: x + @a\n", "@s = '''\nfn main() {}\n'''\n"),
            ("print(@n + @m)\n", "sys.stdout.write(str(@n + @m))\n", "print(f\"{@n + @m}\")\n", "print(*[@n, @m], sep='\\n')\n"),
        ),
        Style(
            ("import sys\n\nclass Node:\n    def __init__(self, v):\n        self.v = v\n\n", "from typing import *\n"),
            ("def main():\n    @n, @m = (int(t) for t in sys.stdin.read().split()[:2])\n",), ("    @s: list[int] = [@n] * @a\n    @n += sum(@s)\n", "    with open(0) as f:\n        pass\n", "    try:\n        @n //= @a\n    except ZeroDivisionError:\n        pass\n"),
            ("    print(@n + @m)\n\nif __name__ == '__main__':\n    main()\n",),
        ),
    ),
    "javascript": (
        Style(
            ("const lines = require('fs').readFileSync(0, 'utf8').split('\\n');\n", "'use strict';\nvar fs = require('fs');\nvar lines = fs.readFileSync('/dev/stdin').toString().split(\"\\n\");\n", "import fs from 'fs';\nconst lines = fs.readFileSync(0, 'utf-8').trim().split(/\\s+/)\n"),
            ("let @n = parseInt(lines[0]);\nlet @m = +lines[1];\n", "let [@n, @m] = lines.map(Number)\n", "var @n = Number(lines[0]), @m = Number(lines[1]);\n"),
            ("for (let i = 0; i < @a; i++) {\n    @n += i;\n}\n", "const @f = (x) => x * @a;\n@n = @f(@n)\n", "function @f(x) {\n    return x * @a;\n}\n@n = @f(@n);\n", "const @s = new Map([[@a, @b]]);\n", "for (const v of [@a, @b]) @n += v\n", "const @s = lines?.length ?? @a;\n",
             "class Node@a {\n  #v = @b;\n  get v() { return this.#v; }\n}\n", "const @s = { type: @a, val: @b, local: 'x: number' };\n", "@n = @n !== @a ? @n : @b;\n", "const @s = /a!b|c!\\.d/.test(lines[0]);\n", "const @s = n1 => !lines[n1] && !(@n > @a);\n"),
            ("console.log(@n + @m);\n", "console.log(`${@n + @m}!`)\n", "process.stdout.write(String(@n + @m) + '\\n');\n"),
        ),
        Style(
            ("const readline = require('readline');\nconst rl = readline.createInterface({ input: process.stdin });\nconst rows = [];\nrl.on('line', (line) => rows.push(line));\nrl.on('close', () => {\n", "process.stdin.on('data', d => {\n  const rows = d.toString().split('\\n');\n"),
            ("  let @n = Number(rows.shift());\n  let @m = Number(rows.shift());\n",), ("  rows.forEach((r, i) => { @n += i; });\n", "  if (@n > @a) @n--\n", "  label@a: for (;;) { break label@a }\n", "  switch (@n) { case @a: @n = @b; break; default: }\n", "  const print = (x) => console.log(x);\n  print(@n);\n"),
            ("  console.log(@n + @m);\n",), "});\n",
        ),
    ),
}  # fmt: skip
"""A language's name -> its styles."""


def honest_program(language: str, draw: random.Random) -> str:
    """One program in ``language``, drawn."""
    style = draw.choice(STYLES[language])
    n, m = draw.sample(NAMES, 2)
    names = (n, m, draw.choice(FUNCTIONS))
    works = draw.sample(style.works, draw.randint(1, min(4, len(style.works))))
    shows = draw.choice(style.shows)
    pieces = [draw.choice(style.head), draw.choice(style.reads), *works, shows]
    return "".join(_filled(piece, names, draw) for piece in pieces) + style.foot


def _filled(piece: str, names: tuple[str, str, str], draw: random.Random) -> str:
    n, m, f = names
    for slot, text in (
        ("@n", n), ("@m", m), ("@f", f), ("@s", f"list{draw.randint(1, 99)}"),
        ("@a", str(draw.randint(2, 99))), ("@b", str(draw.randint(2, 99))),
    ):  # fmt: skip
        piece = piece.replace(slot, text)
    return piece
