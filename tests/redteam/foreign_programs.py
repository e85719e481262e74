"""Programs in languages outside the five, put together from statements, each text another one.

A language is a frame and statements of three kinds: they read, compute and print. Of the computing ones two to four are
drawn. ``@n @m @s @f`` stand for names, ``@a @b`` for numbers.
"""

# ruff: noqa: E501 - one style a line or two

import random
from typing import NamedTuple

NAMES = ("n", "m", "k", "x", "total", "count", "res", "acc", "best", "cur", "num", "val2", "low", "high", "cnt", "step")
FUNCTIONS = ("solve", "work", "twice", "compute", "helper", "gcd", "check", "run_all", "process2", "calc")


class Kind(NamedTuple):
    """A language, as the statements that programs in it are made of."""

    likeness: str
    """The one of the five that it is most easily taken for."""
    tag: str
    head: tuple[str, ...]
    reads: tuple[str, ...]
    works: tuple[str, ...]
    shows: tuple[str, ...]
    foot: str = ""


KINDS = {
    "typescript": Kind(
        "javascript", "typescript",
        ("const lines = require('fs').readFileSync(0, 'utf8').split('\\n');\n",
         "const data = require('fs').readFileSync('/dev/stdin', 'utf8').trim().split(/\\s+/);\nconst lines = data;\n"),
        ("let @n = Number(lines[0]);\nlet @m = Number(lines[1]);\n",
         "let [@n, @m] = lines[0].split(' ').map(Number);\n"),
        ("@n += Number(lines.shift()!);\n", "const @s = lines.pop()!.trim();\n", "let @s: number = @a;\n",
         "function @f(a: number, b: number): number { return a * @a + b; }\n@n = @f(@n, @m);\n",
         "const @f = (x: number) => x + @b;\n@n = @f(@n);\n", "const @s = lines as string[];\n",
         "interface P@a { left: number; right: number }\n", "type T@a = number | string;\n",
         "const @s = new Map<number, number>();\n@s.set(@a, @b);\n", "enum C@a { Red, Green }\n",
         "const @s: number[] = [];\nfor (let i = 0; i < @a; i++) @s.push(i);\n", "@n += (lines[@a] as any).length;\n",
         "function @f<T>(x: T) { return x; }\n", "class Q@a { private left = @a; get() { return this.left; } }\n",
         "const @s = { left: @a } satisfies object;\n", "const @s = lines.find(l => l.length > @a)!;\n@n += @s.length;\n",
         "function @f(x?: number) { return x ? x : @a; }\n", "declare const @s: unknown;\n"),
        ("console.log(@n + @m);\n", "console.log(`${@n} ${@m}`);\n"),
    ),
    "r": Kind(
        "javascript", "r",
        ("con <- file(\"stdin\")\nopen(con)\n", "lines <- readLines(file(\"stdin\"))\n", "con = file('stdin', 'r')\n", ""),
        ("@n <- as.integer(readLines(con, 1))\n@m <- as.integer(readLines(con, 1))\n",
         "@n <- as.numeric(lines[1])\n@m <- as.numeric(lines[2])\n", "x <- scan(con)\n@n <- x[1]\n@m <- x[2]\n",
         "@n = scan('stdin', n = 1)\n@m = @a\n"),
        ("@f <- function(x) {\n  x * @a\n}\n@n <- @f(@n)\n", "@f <- function(a, b) a + b\n@n <- @f(@n, @m)\n",
         "for (i in 1:@a) {\n  @n <- @n + i\n}\n", "@n = @n %% @a\n", "@n <- @n %/% @a\n", "@s <- c(@a, @b)\n@n <- sum(@s)\n",
         "if (@n > @a) {\n  @n <- @n - 1\n}\n", "while (@n > @a) {\n  @n <- @n - @b\n}\n", "@n -> @s\n",
         "@s <- sapply(1:@a, function(i) i * i)\n", "@s <- numeric(@a)\n@s[1] <- @b\n", "if (@n %in% c(@a, @b)) @n <- 0\n",
         "@s = vector('list', @a)\n", "@f = function(x) {\n  return(x + @a)\n}\n"),
        ("cat(@n + @m, \"\\n\")\n", "print(@n)\n", "cat(paste0(@n, \" \", @m), sep = \"\\n\")\n", "write(@n, stdout())\n",
         "message(@n)\n"),
    ),
    "julia": Kind(
        "javascript", "julia",
        ("", "using Printf\n", "import Base: show\n", "using DelimitedFiles\n"),
        ("@n = parse(Int, readline())\n@m = parse(Int, readline())\n", "@n, @m = parse.(Int, split(readline()))\n",
         "@n, @m = map(x -> parse(Int, x), split(readline()))\n"),
        ("@f(x) = x * @a\n@n = @f(@n)\n", "function @f(x)\n    return x + @a\nend\n@n = @f(@n)\n",
         "for i in 1:@a\n    global @n += i\nend\n", "@s = [i^2 for i in 1:@a]\n", "@n = @n ÷ @a\n",
         "@n = @n > @a ? @n : @b\n", "if @n > @a\n    @n -= 1\nend\n", "@s = zeros(Int, @a)\n@s[1] = @b\n", "@n = mod(@n, @a)\n",
         "@s = Dict{Int, Int}()\n", "push!([1, @a], @b)\n", "@n += sum(1:@a)\n", "@n = max(@n, @a)\n"),
        ("println(@n + @m)\n", "print(@n, \"\\n\")\n", "println(\"$(@n) $(@m)\")\n"),
    ),
    "kotlin": Kind(
        "go", "kotlin",
        ("fun main() {\n", "import java.util.*\n\nfun main(args: Array<String>) {\n", "import java.io.*\nfun main() {\n",
         "package main\n\nfun main() {\n"),
        ("    var @n = readLine()!!.toInt()\n    val @m = readLine()!!.trim().toInt()\n",
         "    var (@n, @m) = readln().split(\" \").map { it.toInt() }\n",
         "    val sc = Scanner(System.`in`)\n    var @n = sc.nextInt()\n    val @m = sc.nextInt()\n"),
        ("    for (i in 0 until @a) {\n        @n += i\n    }\n", "    val @s = IntArray(@a)\n    @s[0] = @b\n",
         "    fun @f(x: Int): Int = x * @a\n    @n = @f(@n)\n", "    @n = if (@n > @a) @n else @b\n",
         "    val @s = mutableListOf<Int>()\n    @s.add(@a)\n", "    when (@n) {\n        @a -> @n = @b\n        else -> {}\n    }\n",
         "    repeat(@a) { @n += it }\n", "    while (@n > @a) @n -= @b\n", "    val @s = (1..@a).sum()\n    @n += @s\n"),
        ("    println(@n + @m)\n", "    print(\"$@n $@m\\n\")\n", "    System.out.println(@n + @m)\n"),
        "}\n",
    ),
    "odin": Kind(
        "go", "odin",
        ("package main\n\nimport \"core:fmt\"\nimport \"core:os\"\n\nmain :: proc() {\n",
         "package main\nimport \"core:fmt\"\nmain :: proc() {\n"),
        ("\t@n := @a\n\t@m := @b\n", "\tbuf: [256]byte\n\t@n, _ := os.read(os.stdin, buf[:])\n\t@m := @b\n",
         "\t@n : int = @a\n\t@m : int = @b\n"),
        ("\tfor i in 0..<@a {\n\t\t@n += i\n\t}\n", "\tfor i := 0; i < @a; i += 1 {\n\t\t@n += i\n\t}\n",
         "\tif @n > @a {\n\t\t@n -= 1\n\t}\n", "\t@s := make([]int, @a)\n\tdefer delete(@s)\n",
         "\t@f :: proc(x: int) -> int {\n\t\treturn x * @a\n\t}\n\t@n = @f(@n)\n", "\t@s: [dynamic]int\n\tappend(&@s, @a)\n",
         "\tfor @n > @a {\n\t\t@n -= @b\n\t}\n", "\tswitch @n {\n\tcase @a: @n = @b\n\tcase:\n\t}\n"),
        ("\tfmt.println(@n + @m)\n", "\tfmt.printf(\"%d\\n\", @n + @m)\n"),
        "}\n",
    ),
    "csharp": Kind(
        "java", "csharp",
        ("using System;\n\nclass Program\n{\n    static void Main()\n    {\n",
         "using System;\nusing System.Linq;\npublic class Solution {\n    public static void Main(string[] args) {\n",
         "class P {\n    static int @f(int x) { return x * 2; }\n    static void Main() {\n",
         "namespace App {\n  class P {\n    public static void Main() {\n"),
        ("        int @n = int.Parse(Console.ReadLine());\n        int @m = int.Parse(Console.ReadLine());\n",
         "        var @s = System.Console.ReadLine().Split(' ');\n        int @n = int.Parse(@s[0]);\n        int @m = @a;\n"),
        ("        for (int i = 0; i < @a; i++) {\n            @n += i;\n        }\n", "        int[] @s@a = new int[@a];\n",
         "        if (@n > @a) @n--;\n", "        while (@n > @a) @n -= @b;\n", "        @n = Math.Max(@n, @a);\n",
         "        foreach (var c in new[] { @a, @b }) @n += c;\n", "        string t@a = @n.ToString();\n"),
        ("        Console.WriteLine(@n + @m);\n", "        System.Console.WriteLine(@n + @m);\n",
         "        Console.Write($\"{@n} {@m}\\n\");\n"),
        "    }\n}\n",
    ),
    "php": Kind(
        "javascript", "php",
        ("<?php\n", "<?php\ndeclare(strict_types=1);\n", ""),
        ("$@n = intval(trim(fgets(STDIN)));\n$@m = (int) fgets(STDIN);\n", "[$@n, $@m] = explode(' ', fgets(STDIN));\n",
         "fscanf(STDIN, \"%d %d\", $@n, $@m);\n"),
        ("for ($i = 0; $i < @a; $i++) {\n    $@n += $i;\n}\n", "foreach ([@a, @b] as $v) { $@n += $v; }\n",
         "function @f($x) { return $x * @a; }\n$@n = @f($@n);\n", "if ($@n > @a) $@n--;\n", "while ($@n > @a) { $@n -= @b; }\n",
         "$@s = array();\n$@s[] = @a;\n", "$@n = max($@n, @a);\n"),
        ("echo $@n + $@m, \"\\n\";\n", "echo $@n + $@m . PHP_EOL;\n", "printf(\"%d\\n\", $@n + $@m);\n", "print($@n);\n"),
    ),
    "ruby": Kind(
        "python", "ruby",
        ("", "require 'set'\n", "# frozen_string_literal: true\n"),
        ("@n = gets.to_i\n@m = gets.to_i\n", "@n, @m = gets.split.map(&:to_i)\n", "@n = STDIN.gets.to_i\n@m = Integer(gets)\n"),
        ("@a.times { |i| @n += i }\n", "def @f(x)\n  x * @a\nend\n@n = @f(@n)\n", "@n -= 1 if @n > @a\n",
         "(1..@a).each do |i|\n  @n += i\nend\n", "@s = [@a, @b].sum\n", "@n -= @b while @n > @a\n", "@s = {}\n@s[@a] = @b\n",
         "@n = [@n, @a].max\n", "unless @n == @a\n  @n += 1\nend\n"),
        ("puts @n + @m\n", "print @n + @m, \"\\n\"\n", "puts \"#{@n} #{@m}\"\n", "p @n\n", "$stdout.puts(@n)\n"),
    ),
    "rust": Kind(
        "go", "rust",
        ("use std::io;\n\nfn main() {\n", "use std::io::{self, Read};\nfn main() {\n", "fn main() {\n"),
        ("    let mut line = String::new();\n    std::io::stdin().read_line(&mut line).unwrap();\n"
         "    let mut @n: i64 = line.trim().parse().unwrap();\n    let @m = @a;\n",),
        ("    for i in 0..@a {\n        @n += i;\n    }\n", "    let @s = vec![@a, @b];\n", "    if @n > @a {\n        @n -= 1;\n    }\n",
         "    while @n > @a { @n -= @b; }\n", "    let @s: Vec<i64> = (0..@a).collect();\n", "    @n = @n.max(@a);\n",
         "    let @f = |x: i64| x * @a;\n    @n = @f(@n);\n"),
        ("    println!(\"{}\", @n + @m);\n", "    print!(\"{} {}\\n\", @n, @m);\n"),
        "}\n",
    ),
    "swift": Kind(
        "javascript", "swift",
        ("", "import Foundation\n"),
        ("var @n = Int(readLine()!)!\nlet @m = Int(readLine()!)!\n",
         "let @s = readLine()!.split(separator: \" \").map { Int($0)! }\nvar @n = @s[0]\nlet @m = @s[1]\n"),
        ("for i in 0..<@a {\n    @n += i\n}\n", "func @f(_ x: Int) -> Int { return x * @a }\n@n = @f(@n)\n", "if @n > @a { @n -= 1 }\n",
         "while @n > @a { @n -= @b }\n", "var v@a = [Int](repeating: 0, count: @b)\n", "@n = max(@n, @a)\n",
         "var v@a = [Int: Int]()\nv@a[@b] = 1\n", "guard @n > 0 else { fatalError() }\n"),
        ("print(@n + @m)\n", "print(\"\\(@n) \\(@m)\")\n"),
    ),
    "scala": Kind(
        "java", "scala",
        ("object Main {\n  def main(args: Array[String]): Unit = {\n", "object Main extends App {\n  {\n",
         "import scala.io.StdIn._\nobject Solution {\n  def main(args: Array[String]) {\n"),
        ("    var @n = scala.io.StdIn.readInt()\n    val @m = readInt()\n",
         "    val Array(@m, q) = readLine().split(\" \").map(_.toInt)\n    var @n = q\n"),
        ("    for (i <- 0 until @a) {\n      @n += i\n    }\n", "    def @f(x: Int): Int = x * @a\n    @n = @f(@n)\n", "    if (@n > @a) @n -= 1\n",
         "    val @s = List(@a, @b).sum\n", "    @n = @n max @a\n", "    while (@n > @a) @n -= @b\n"),
        ("    println(@n + @m)\n", "    println(s\"$@n $@m\")\n"),
        "  }\n}\n",
    ),
    "perl": Kind(
        "javascript", "perl",
        ("use strict;\nuse warnings;\n", "#!/usr/bin/perl\n", ""),
        ("my $@n = <STDIN>;\nmy $@m = <STDIN>;\nchomp $@n;\n", "my ($@n, $@m) = split ' ', <>;\n"),
        ("for my $i (0 .. @a) {\n    $@n += $i;\n}\n", "sub @f { return $_[0] * @a; }\n$@n = @f($@n);\n", "$@n-- if $@n > @a;\n",
         "my @@s = (@a, @b);\n", "my %@s = (@a => @b);\n", "while ($@n > @a) { $@n -= @b; }\n"),
        ("print $@n + $@m, \"\\n\";\n", "print \"$@n $@m\\n\";\n", "printf(\"%d\\n\", $@n);\n"),
    ),
    "lua": Kind(
        "python", "lua",
        ("", "-- reads two numbers\n"),
        ("local @n = io.read(\"*n\")\nlocal @m = io.read(\"*n\")\n", "@n, @m = io.read('n', 'n')\n", "local @n = tonumber(io.read())\nlocal @m = @a\n"),
        ("for i = 1, @a do\n  @n = @n + i\nend\n", "local function @f(x)\n  return x * @a\nend\n@n = @f(@n)\n", "if @n > @a then\n  @n = @n - 1\nend\n",
         "while @n > @a do @n = @n - @b end\n", "local @s = {}\n@s[@a] = @b\n", "@n = math.max(@n, @a)\n"),
        ("print(@n + @m)\n", "io.write(@n + @m, \"\\n\")\n", "print(@n .. \" \" .. @m)\n"),
    ),
    "dart": Kind(
        "java", "dart",
        ("import 'dart:io';\n\nvoid main() {\n", "import 'dart:io';\nmain() {\n", "import \"dart:io\";\nint @f(int x) => x * 2;\nvoid main() {\n"),
        ("  int @n = int.parse(stdin.readLineSync()!);\n  var @m = int.parse(stdin.readLineSync()!);\n",
         "  final t = stdin.readLineSync()!.split(' ').map(int.parse).toList();\n  var @n = t[0];\n  final @m = t[1];\n"),
        ("  for (int i = 0; i < @a; i++) {\n    @n += i;\n  }\n", "  if (@n > @a) @n--;\n", "  while (@n > @a) @n -= @b;\n",
         "  List<int> @s = [@a, @b];\n", "  for (final v in [@a, @b]) @n += v;\n", "  Map<int, int> @s = {};\n"),
        ("  print(@n + @m);\n", "  print('$@n $@m');\n", "  stdout.writeln(@n);\n"),
        "}\n",
    ),
    "d": Kind(
        "cpp", "d",
        ("import std.stdio;\n\nvoid main() {\n", "import std.stdio, std.conv, std.string;\nvoid main()\n{\n"),
        ("    int @n, @m;\n    readf(\" %d %d\", &@n, &@m);\n", "    auto @n = readln.strip.to!int;\n    auto @m = readln.strip.to!int;\n"),
        ("    foreach (i; 0 .. @a) {\n        @n += i;\n    }\n", "    for (int i = 0; i < @a; i++) @n += i;\n", "    if (@n > @a) @n--;\n",
         "    int[] @s = new int[@a];\n", "    int[int] @s;\n    @s[@a] = @b;\n", "    while (@n > @a) @n -= @b;\n"),
        ("    writeln(@n + @m);\n", "    writefln(\"%d\", @n + @m);\n"),
        "}\n",
    ),
    "nim": Kind(
        "python", "nim",
        ("", "import strutils\n", "import strutils, sequtils\n"),
        ("var @n = readLine(stdin).parseInt\nlet @m = readLine(stdin).parseInt\n", "var @n = stdin.readLine.parseInt()\nlet @m = @a\n"),
        ("for i in 0 ..< @a:\n  @n += i\n", "proc @f(x: int): int =\n  x * @a\n@n = @f(@n)\n", "if @n > @a:\n  dec @n\n", "while @n > @a:\n  @n -= @b\n",
         "var v@a: seq[int] = @[@a, @b]\n", "@n = max(@n, @a)\n"),
        ("echo @n + @m\n", "echo $@n, \" \", $@m\n", "stdout.writeLine(@n)\n"),
    ),
    "zig": Kind(
        "go", "zig",
        ("const std = @import(\"std\");\n\npub fn main() !void {\n",),
        ("    var @n: i64 = @a;\n    const @m: i64 = @b;\n", "    const in = std.io.getStdIn().reader();\n    _ = in;\n    var @n: u32 = @a;\n    const @m = @b;\n"),
        ("    var i: i64 = 0;\n    while (i < @a) : (i += 1) {\n        @n += i;\n    }\n", "    if (@n > @a) @n -= 1;\n",
         "    for (0..@a) |j| { @n += j; }\n", "    const @s = [_]i64{ @a, @b };\n    _ = @s;\n"),
        ("    std.debug.print(\"{d}\\n\", .{@n + @m});\n", "    try std.io.getStdOut().writer().print(\"{d} {d}\\n\", .{ @n, @m });\n"),
        "}\n",
    ),
    "elixir": Kind(
        "python", "elixir",
        ("", "defmodule Main do\n  def twice(x), do: x * 2\nend\n"),
        ("@n = IO.gets(\"\") |> String.trim() |> String.to_integer()\n@m = @a\n", "[@n, @m] = IO.gets(\"\") |> String.split() |> Enum.map(&String.to_integer/1)\n"),
        ("@n = Enum.reduce(1..@a, @n, fn i, acc -> acc + i end)\n", "@n = if @n > @a, do: @n - 1, else: @n\n", "@f = fn x -> x * @a end\n@n = @f.(@n)\n",
         "@s = Enum.sum([@a, @b])\n", "@n = max(@n, @a)\n"),
        ("IO.puts(@n + @m)\n", "IO.puts \"#{@n} #{@m}\"\n"),
    ),
    "pascal": Kind(
        "python", "pascal",
        ("program Main;\nvar @n, @m, i: integer;\nbegin\n", "var\n  @n, @m, i: longint;\nbegin\n"),
        ("  readln(@n, @m);\n", "  read(@n);\n  read(@m);\n"),
        ("  for i := 1 to @a do\n    @n := @n + i;\n", "  if @n > @a then @n := @n - 1;\n", "  while @n > @a do @n := @n - @b;\n", "  @n := @n mod @a;\n"),
        ("  writeln(@n + @m);\n", "  write(@n);\n"),
        "end.\n",
    ),
    "haskell": Kind(
        "python", "haskell",
        ("main :: IO ()\nmain = do\n", "import Data.List\n\nmain :: IO ()\nmain = do\n", "main = do\n"),
        ("  [@n, @m] <- map read . words <$> getLine :: IO [Int]\n", "  @n <- readLn :: IO Int\n  @m <- fmap read getLine\n"),
        ("  let @s = sum [1..@a]\n", "  let @f x = x * @a + @b\n", "  let @s = [i * i | i <- [1..@a]]\n", "  let @s = if @n > @a then @n else @b\n"),
        ("  print (@n + @m)\n", "  putStrLn $ show (@n + @m)\n"),
    ),
    "groovy": Kind(
        "java", "groovy",
        ("", "import java.util.Scanner\n"),
        ("def @n = System.in.newReader().readLine() as int\ndef @m = @a\n", "def sc = new Scanner(System.in)\nint @n = sc.nextInt()\nint @m = sc.nextInt()\n"),
        ("(1..@a).each { @n += it }\n", "def @f = { x -> x * @a }\n@n = @f(@n)\n", "if (@n > @a) @n--\n", "for (i in 0..@a) { @n += i }\n", "def @s = [@a, @b]\n"),
        ("println @n + @m\n", "println \"${@n} ${@m}\"\n", "println(@n)\n"),
    ),
    "v": Kind(
        "go", "v",
        ("import os\n\nfn main() {\n", "module main\n\nimport os\n\nfn main() {\n"),
        ("\tmut @n := os.get_line().int()\n\t@m := os.input('').int()\n",),
        ("\tfor i in 0 .. @a {\n\t\t@n += i\n\t}\n", "\tif @n > @a {\n\t\t@n -= 1\n\t}\n", "\tmut @s := []int{len: @a}\n\t@s[0] = @b\n", "\tfor @n > @a {\n\t\t@n -= @b\n\t}\n"),
        ("\tprintln(@n + @m)\n", "\tprintln('${@n} ${@m}')\n"),
        "}\n",
    ),
    "wren": Kind(
        "javascript", "wren",
        ("import \"io\" for Stdin\n", "import \"io\" for Stdin, Stdout\nclass Helper {\n  static twice(x) { x * 2 }\n}\n"),
        ("var @n = Num.fromString(Stdin.readLine())\nvar @m = @a\n",),
        ("for (i in 1..@a) {\n  @n = @n + i\n}\n", "var @f = Fn.new {|x| x * @a }\n@n = @f.call(@n)\n", "if (@n > @a) @n = @n - 1\n", "while (@n > @a) {\n  @n = @n - @b\n}\n", "var @s = [@a, @b]\n"),
        ("System.print(@n + @m)\n", "System.print(\"%(@n) %(@m)\")\n"),
    ),
    "awk": Kind(
        "javascript", "awk",
        ("BEGIN { FS = \" \" }\n", "#!/usr/bin/awk -f\n"),
        ("{ @n = $1; @m = $2 }\n", "{\n  @n += $1\n  @m = $NF\n}\n"),
        ("$1 > @a { @n = @n - 1 }\n", "function @f(x) { return x * @a }\n", "/^@a/ { next }\n", "NR == @a { for (i = 0; i < @b; i++) @n += i }\n"),
        ("END { print @n + @m }\n", "END { printf \"%d\\n\", @n + @m }\n"),
    ),
}  # fmt: skip
"""A language's name -> how its programs are put together."""


def foreign_program(language: str, draw: random.Random, statements: tuple[int, int] = (2, 4)) -> str:
    """One program in ``language``, drawn, with so many computing statements, at least and at most."""
    kind = KINDS[language]
    number = min(draw.randint(*statements), len(kind.works))
    n, m = draw.sample(NAMES, 2)
    pieces = [
        draw.choice(kind.head),
        draw.choice(kind.reads),
        *draw.sample(kind.works, number),
        draw.choice(kind.shows),
    ]
    return "".join(_filled(piece, (n, m), draw) for piece in pieces) + kind.foot


def _filled(piece: str, names: tuple[str, str], draw: random.Random) -> str:
    n, m = names
    for slot, text in (
        ("@import", "\0import"), ("@[", "\0["), ("@n", n), ("@m", m), ("@s", f"list{draw.randint(1, 99)}"),
        ("@f", draw.choice(FUNCTIONS)), ("@a", str(draw.randint(2, 99))), ("@b", str(draw.randint(2, 99))), ("\0", "@"),
    ):  # fmt: skip
        piece = piece.replace(slot, text)
    return piece
