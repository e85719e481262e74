"""Which of the five programming languages a piece of code is in, whatever its fence says.

A language's own tree-sitter grammar reads the code, and what only that language says is looked for in what is left once
the grammar's comments and strings are out: another language's code in a comment or a string counts for nothing. A
grammar alone can't decide, since short programs are grammatical in several (``print(1)`` in all five) and a C# program
has few errors as Java: hence the marks, of the language itself and of those outside the five.

Whether the code compiles or does what it should is the sandbox's business.
"""

import re
import time
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query, Tree

LANGUAGES = ("python", "cpp", "java", "go", "javascript")

MAX_BYTES = 32_768
"""Longer code is in no language: ten times a long solution. Parsers take quadratic time on code made for it."""
PARSING_TIME_S = 1.0
"""CPU time for all parsers together, some 20 times what MAX_BYTES of any real program takes. Code made to exhaust a
parser is in no language; a parser looks at the clock between its steps, and the worst of those take seconds."""

MAX_OPEN_ANGLES = 500

CLEAN_SHARE, BROKEN_SHARE, CUT_SHARE = 0.02, 0.2, 0.5
"""Up to the first share of bytes that do not fit, a grammar accepts the code; beyond the second it rejects it. Between
them lie broken programs, and C++ with macros. Up to the third, code with SURE evidence of the claimed language is a
program cut short, whose open braces a parser cannot place."""

PLAIN, SURE = 2, 4
"""Points of evidence: enough for code that the grammar accepts, and enough for code that it does not."""


class Reading(NamedTuple):
    """What the code looks like as one language."""

    language: str
    error_share: float
    """Bytes that do not fit the grammar, of those outside comments and strings."""
    points: int
    """The evidence for the language: 2 for each mark that settles it, 1 for each that it shares with another."""
    foreign: bool
    """There is a mark of a language outside the five. Not looked at when the code fits the grammar and has SURE."""
    bare: str
    """The code without its comments and strings."""

    @property
    def clean(self) -> bool:
        return self.error_share <= CLEAN_SHARE and not self.foreign

    @property
    def broken(self) -> bool:
        return CLEAN_SHARE < self.error_share <= BROKEN_SHARE and not self.foreign

    @property
    def cut(self) -> bool:
        return BROKEN_SHARE < self.error_share <= CUT_SHARE and not self.foreign


@lru_cache(maxsize=2048)
def source_language(code: str, claimed: str | None = None, doubtful: bool = False) -> str | None:
    """The language that ``code`` is in, one of LANGUAGES; None when it is in none of them.

    ``claimed`` is the language that its fence names, ``doubtful`` that the fence names one outside the five. In order:

    1. The claimed language, when its grammar accepts the code and there is evidence for it.
    2. The language whose grammar accepts the code, with the most evidence.
    3. The claimed language, when its grammar accepts the code and nothing speaks for another (``x = 1``), or when the
       code is broken but has evidence of it: an attempt with a syntax error is an attempt, which will not compile. The
       line is at BROKEN_SHARE, or at CUT_SHARE with SURE evidence.
    4. The language that there is SURE evidence for in broken code, as C++ full of macros is to a parser.

    Without a claim only 2 and 4 count; of doubtful code SURE evidence is asked also in 2. Code with marks of a language
    outside the five is in none, unless a grammar accepts all of it and the evidence is SURE.

    Plain C is C++ only where the fence claims C++. Python 2 is Python, as a program that does not compile.
    Deterministic, except that code made to exhaust a parser is stopped by the clock.
    """
    source = code.replace("\0", "?").encode("utf-8", "replace")  # a parser takes NUL for the end
    if len(source) > MAX_BYTES or not code.strip():
        return None
    deadline = time.thread_time() + PARSING_TIME_S
    try:
        own = _read(source, claimed, deadline) if claimed else None
        if own and own.clean and own.points >= PLAIN:
            return own.language
        readings = [own if own and language == claimed else _read(source, language, deadline) for language in LANGUAGES]
    except _TooHardError:
        return None
    others = [
        reading
        for reading in readings
        if reading is not own and not (reading.language == "cpp" and _is_c(reading.bare))
    ]
    at_least = own.points if own else 0
    found = _best(others, lambda reading: reading.clean and reading.points >= (SURE if doubtful else PLAIN))
    if found and found.points >= at_least:
        return found.language
    if own and (own.clean or (own.broken and own.points >= PLAIN) or (own.cut and own.points >= SURE)):
        return own.language
    found = _best(others, lambda reading: reading.broken and reading.points >= SURE and not doubtful)
    return found.language if found and found.points > at_least else None


def _best(readings: Iterable[Reading], fits: Callable[[Reading], bool]) -> Reading | None:
    fitting = [reading for reading in readings if fits(reading)]
    return max(fitting, key=lambda reading: (reading.points, -reading.error_share), default=None)


class _TooHardError(Exception):
    """A parser has taken all the time there is."""


class _Grammar(NamedTuple):
    language: "Language"
    hidden: "Query"
    """Captures comments and strings."""


_HIDDEN = {
    "python": "[(comment) (string)] @hidden",
    "cpp": "[(comment) (string_literal) (raw_string_literal) (char_literal)] @hidden",
    "java": "[(line_comment) (block_comment) (string_literal) (character_literal)] @hidden",
    "go": "[(comment) (interpreted_string_literal) (raw_string_literal) (rune_literal)] @hidden",
    "javascript": "[(comment) (string) (template_string) (regex)] @hidden",
}


@cache
def _grammar(language: str) -> _Grammar:
    # The wheels take a tenth of a second to load, and most who import the verifiers never read a program.
    from importlib import import_module

    from tree_sitter import Language, Query

    grammar = Language(import_module(f"tree_sitter_{language}").language())
    return _Grammar(grammar, Query(grammar, _HIDDEN[language]))


def _read(source: bytes, language: str, deadline: float) -> Reading:
    grammar = _grammar(language)
    if language == "java" and _open_angles(source) > MAX_OPEN_ANGLES:
        return Reading(language, 1.0, 0, False, "")
    tree = _parse(source, grammar.language, deadline)
    wrong = _error_bytes(tree.root_node) if tree.root_node.has_error else 0
    if wrong > CUT_SHARE * len(source):  # hopeless, and a query takes long on a tree of nothing but errors
        return Reading(language, 1.0, 0, False, "")
    bare = _bare(source, tree, grammar.hidden)
    share = wrong / max(1, len(bare.strip()))
    points = sum(points for mark, points in MARKS[language] if mark.search(bare))
    foreign = (wrong > 0 or points < SURE) and FOREIGN[language].search(bare) is not None
    return Reading(language, share, points, foreign, bare)


def _parse(source: bytes, language: "Language", deadline: float) -> "Tree":
    from tree_sitter import Parser

    def out_of_time(offset: int, has_error: bool) -> bool:
        return time.thread_time() > deadline

    # A parser is not to be shared between threads, and costs a microsecond. Only a source that is read through a
    # function can be given up.
    try:
        return Parser(language).parse(lambda offset, point: source[offset:], progress_callback=out_of_time)
    except ValueError:
        raise _TooHardError from None


def _open_angles(source: bytes) -> int:
    """The most ``<`` that wait for their ``>`` at one place: Java's parser follows each, in quadratic time and deaf to
    the clock."""
    steps = (1 if angle == b"<" else -1 for angle in re.findall(rb"<<|<=|[-=]>|[<>]", source) if len(angle) == 1)
    return max(accumulate(steps), default=0)


def _bare(source: bytes, tree: "Tree", hidden: "Query") -> str:
    from tree_sitter import QueryCursor

    captures = QueryCursor(hidden).captures(tree.root_node)
    pieces, end = [], 0
    for node in sorted(captures.get("hidden", []), key=lambda node: node.start_byte):
        if node.start_byte >= end:  # or it lies within the one before
            pieces.append(source[end : node.start_byte])
            pieces.append(b" " if "comment" in node.type else b'""')
            end = node.end_byte
    pieces.append(source[end:])
    return b"".join(pieces).decode("utf-8", "replace")


def _error_bytes(root: "Node") -> int:
    """The bytes that a parser skipped, or could not place in anything larger. What it could make sense of within an
    error counts as right: the body of a class that is never closed, in a response cut at the length cap."""
    wrong, nodes = 0, [root]
    while nodes:
        node = nodes.pop()
        if node.is_missing:
            wrong += 1
        elif node.is_error:
            covered = 0
            for child in node.children:
                if child.child_count:
                    covered += child.end_byte - child.start_byte
                    nodes.append(child)
            wrong += node.end_byte - node.start_byte - covered
        elif node.has_error:
            nodes.extend(node.children)
    return wrong


def _marks(settling: str, shared: str) -> list[tuple[re.Pattern[str], int]]:
    """One regular expression a line."""
    return [
        (re.compile(line.strip(), re.MULTILINE), points)
        for text, points in ((settling, 2), (shared, 1))
        for line in text.strip().splitlines()
    ]


MARKS = {
    "python": _marks(
        r"""
        ^[ \t]*(?:async[ ]+)?def \w+[ ]*\(
        ^[ \t]*(?:if|elif|for|while|with|class|except)\b.*:[ \t]*$
        ^[ \t]*(?:else|try|finally)[ ]*:|^[ \t]*(?:for \w[\w, ]*[ ]in\b|while\b|if\b|elif\b)[^{}\n]*:[ ]*\S
        (?<![\w.])print[ ]*\(|^[ \t]*print[ ]+["\w(]
        (?<![\w.])(?:input|raw_input|range|enumerate|sorted|isinstance|zip)\(
        ^[ \t]*from[ ]+[\w.]+[ ]+import\b
        \bsys\.(?:stdin|stdout|setrecursionlimit|exit|argv)\b|\b__name__\b
        """,
        r"""
        (?<![\w.])(?:int|len|str|map|list|sum|open|set|dict|float|max|min|exit)\(
        ^[ \t]*import[ ]+\w+(?:\.\w+)*(?:[ ]as[ ]\w+)?(?:,[ ]*\w+)*[ \t]*$
        \b(?:elif|lambda|None|True|False|pass|not in|is not)\b
        \bself\.
        \bfor\b[^\n;{}]*\bin\b
        """,
    ),
    "cpp": _marks(
        r"""
        ^[ \t]*#[ \t]*include\b
        \b(?:cin|cout|cerr|endl)\b
        \bstd::
        \busing[ ]+namespace\b
        \btemplate[ ]*<
        \b(?:vector|unordered_map|map|set|pair|queue|priority_queue|stack|multiset)[ ]*<
        """,
        r"""
        \bint[ ]+main[ ]*\(
        \b(?:printf|scanf|puts|getchar|putchar|malloc|memset)[ ]*\(
        \b(?:long[ ]+long|unsigned|size_t|auto|nullptr|struct|typedef|sizeof)\b
        \w->\w
        ^[ \t]*#[ \t]*(?:define|ifdef|ifndef|pragma)\b
        """,
    ),
    "java": _marks(
        r"""
        \bstatic[ ]+(?:final[ ]+)?void[ ]+main[ ]*\(
        \bSystem[ ]*\.[ ]*(?:out|in|err|exit|currentTimeMillis|nanoTime|arraycopy)\b
        ^[ \t]*import[ ]+(?:static[ ]+)?javax?\.
        (?:Scanner|BufferedReader|StringTokenizer|InputStreamReader|PrintWriter|StringBuilder|ArrayList|HashMap)[ ]*[<(]
        """,
        r"""
        \b(?:public|private|protected)[ ]+(?:static[ ]+|final[ ]+|abstract[ ]+)*(?:class|interface|enum|record)\b
        \b(?:public|private|protected)[ ]+(?:static[ ]+|final[ ]+)*\w+[ ]+\w+[ ]*\(
        \bString\b(?:\[\])?
        \b(?:implements|throws|final|@Override|instanceof)\b
        \bnew[ ]+\w+[ ]*(?:<[\w<>, ]*>)?[ ]*[(\[]
        ^[ \t]*package[ ]+[\w.]+;
        """,
    ),
    "go": _marks(
        r"""
        ^[ \t]*package[ ]+\w+[ \t;]*$
        ^[ \t]*func[ ]+(?:\(\w+[ ]+[*\w\[\], ]+\)[ ]*)?\w+[ ]*(?:\[[^\]\n]*\])?\(
        \bfmt\.[A-Z]\w*\(
        """,
        r"""
        :=
        ^[ \t]*import[ ]*(?:\(|"")
        :=[ ]*range\b|\bfor[ ]+range\b
        \b(?:bufio|os|strings|strconv|sort|math)\.[A-Z]\w*
        \b(?:defer|chan|go[ ]+func|make|append|interface\{\}|nil)\b
        """,
    ),
    "javascript": _marks(
        r"""
        \bconsole[ ]*\.[ ]*(?:log|error|info|table)\b
        (?<![\w.])require[ ]*\(
        \bprocess\.(?:stdin|stdout|exit|on|argv|nextTick|stderr)\b
        ^[ \t]*import\b[^\n;]*\bfrom[ ]*""
        ^[ \t]*(?:export[ ]+(?:default|const|function|class)\b|module\.exports\b)
        """,
        r"""
        \b(?:const|let)[ ]+(?:\w+|\[[^\]\n]*\]|\{[^}\n]*\})[ ]*(?:=|;|,|$|of\b)
        \bvar[ ]+\w+[ ]*(?:=|;|,|$)
        =>
        \bfunction\b[ ]*\*?[ ]*\w*[ ]*\(
        [!=]==
        \b(?:parseInt|parseFloat|Number|BigInt|String)\(|\bnew[ ]+(?:Map|Set|Array|Promise)\b|\bMath\.
        \.(?:split|forEach|map|push|join|length|trim|filter|reduce)\b
        \b(?:undefined|await|typeof|null)\b
        """,
    ),
}
"""What speaks for a language in its bare code, and the points that it gives."""


def _any(lines: str) -> re.Pattern[str]:
    """One regular expression a line."""
    return re.compile("|".join(f"(?:{line.strip()})" for line in lines.splitlines() if line.strip()), re.MULTILINE)


_ALL = r"""
    <\?php
    \bfn[ ]+\w+[ ]*[(<]
    \blet[ ]+mut\b
    \b\w+![ ]*[(\[]
    \bimpl\b.*\{[ ]*$
    ^[ \t]*using[ ]+System
    \bConsole\.(?:Write|Read|In|Out|Error)
    \bstatic[ ]+(?:async[ ]+)?(?:void|int|Task)[ ]+Main\b
    \bfun[ ]+\w+[ ]*[(<]
    ^[ \t]*(?:private[ ]+|override[ ]+|lazy[ ]+)?val[ ]+\w+
    \b(?:readLine|readln)\(\)
    ^[ \t]*(?:case[ ]+)?object[ ]+\w+
    \bimport[ ]+(?:Foundation|Glibc|scala\.|kotlin\.|std\.|Data\.|System\.IO)
    \bguard[ ]+let\b|\bif[ ]+let\b
    \bmy[ ]+[$@%(]
    ^[ \t]*(?:end|fi|done|esac)[ \t]*;?[ \t]*$
    \bthen[ \t]*$
    ^[ \t]*local[ ]+(?:function[ ]+)?\w+
    \bSTDIN\b
    \bstdin\.readLineSync\b
    ^[ \t]*@(?:interface|implementation|autoreleasepool|property)\b
    ^main[ ]+::|^main[ ]*=[ ]*do\b
    ^[ \t]*(?:elsif|elseif|unless|foreach|echo)\b[ ]*[^\s=.,)\]]
"""
FOREIGN = {
    "python": _any(
        _ALL
        + r"""
        ^[ \t]*(?:let|var|const|local|my|our|func|function|sub|proc|use|using|package|public|private|static)[ ]+[\w$@%]
        ^[ \t]*(?:int|long|double|string|auto|char|void)[ ]+\w+
        \bdo[ \t]*(?:\|.*)?$
        (?<![\w.])(?:puts|gets|println|cat|writeln|echo)\b(?![ ]*=)
        \$\w
        ^[ \t]*\w+[ ]*<-[ ]
        \w[ ]*::[ ]*[A-Z]
        \bio\.(?:read|write|lines)\b
        (?:\|>|&&|\|\||\+\+)
        ^[ \t]*(?:#include|//|/\*)
        \}[ ]*else\b
        """
    ),
    "cpp": _any(
        _ALL
        + r"""
        ^[ \t]*(?:let|var|func|def|pub|module|function|sub|use)[ ]+\w+
        \$\w
        ^[ \t]*import[ ]+(?:""|[\w.]+)
        ^[ \t]*\#import\b
        \bNSLog\b
        \bwriteln\b
        (?<![\w.])(?:println|print)\b
        """
    ),
    "java": _any(
        _ALL
        + r"""
        ^[ \t]*using\b
        \bforeach[ ]*\(
        ^[ \t]*namespace\b
        \bstring\b
        \bbool\b
        \b(?:func|def|let)[ ]+\w+
        \w[ ]*:[ ]*(?:Int|String|number|string|boolean)\b
        (?<![\w.])(?:println|writeln|print)[ ]*\(
        ^[ \t]*import[ ]+""
        \{[ ]*get;
        \$\w
        """
    ),
    "go": _any(
        _ALL
        + r"""
        \b(?:let|def|class|while|fun|guard|self|extends)\b
        ->
        \$\w
        (?<![\w.])print\b
        """
    ),
    "javascript": _any(
        _ALL
        + r"""
        \w\??[ ]*:[ ]*(?:number|string|boolean|void|any|unknown|never|bigint|Int|String|Double)\b(?![ ]*\()
        \w\??\)?[ ]*:[ ]*\w+(?:<[^;\n]*>)?(?:\[\])*[ ]*(?:=[^=>]|=>|\{[ ]*$)
        \w\??[ ]*:[ ]*\w+(?:\[\])+
        ^[ \t]*(?:export[ ]+)?(?:interface|enum|namespace|declare|abstract|type)[ ]+\w+
        \bas[ ]+(?:number|string|any|const|unknown|[A-Z]\w*)\b
        \b(?:private|public|protected|readonly)[ ]+\w
        \bnew[ ]+\w+<|<(?:number|string|boolean|any)\b
        ^[ \t]*(?:func|def|sub|use|package|local|elif)[ ]+\w
        ^[ \t]*\$\w+
        (?<![\w.])(?:println|print|puts|gets|writeln|cat|echo)\b
        \bint\.parse\b
        ^[ \t]*(?:int|double|void|String|bool|final|List<\w+>)[ ]+\w+
        ->
        """
    ),
}
"""Marks of languages outside the five, in code that is not wholly or not surely the language itself."""

_BEYOND_C = _any(
    r"""
    \b(?:std::|cin|cout|cerr|endl|nullptr|constexpr|static_cast|operator|delete|typename|virtual|throw|catch)
    \busing[ ]+(?:namespace\b|\w+[ ]*=)
    \btemplate[ ]*<
    ^[ \t]*(?:class|namespace)[ ]+\w+
    \b(?:vector|map|set|pair|queue|stack|priority_queue|string)[ ]*[<&*\w ]*\w
    \bauto[ &*]+[\w\[]+[ ]*[=:\]]
    \bnew[ ]+\w
    ^[ \t]*\#[ \t]*include[ \t]*<[\w/+]+(?:\+\+\.h)?>
    ^[ \t]*(?:public|private|protected)[ ]*:
    \w[ ]*&[ ]*\w+[ ]*[,)][^;]*\{
    \bfor[ ]*\([^;()]*[^:]:[^:]
    \[[&=\w, ]*\][ ]*\([^)]*\)[ ]*(?:->[ ]*\w+[ ]*)?\{
    """
)


def _is_c(bare: str) -> bool:
    """Nothing in it needs C++, and no header is one of C++'s own."""
    return not _BEYOND_C.search(bare)
