"""What speaks for a language in a piece of code: regular expressions, each worth some points of evidence.

They are meant for code without comments and strings (a string may stand as ``""``), and serve as a rough guess on code
with them. A mark is searched at every place, in text that a model chose, and takes time linear in its length: what
could run past its match is bounded, starts where a line does, or takes the first of several ways and no other
(``(?>...)``); and of two repetitions that follow each other, none takes what the other could.
"""

import re
from functools import cache

_MARKS = {
    "python": (
        r"""
        ^[ \t]*(?:async[ ]+)?def \w+[ ]*\(
        ^[ \t]*(?:if|elif|for|while|with|class|except)\b.*:[ \t]*$
        ^[ \t]*(?:else|try|finally)[ ]*:|^[ \t]*(?>for \w[\w, ]*?[ ]in\b|while\b|if\b|elif\b)[^{}\n]*:[ ]*\S
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
        \bfor\b[^\n;{}]{1,80}?\bin\b
        """,
    ),
    "cpp": (
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
    "java": (
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
        \bnew[ ]+\w+[ ]*+(?:<[\w<>, ]{0,80}>[ ]*+)?[(\[]
        ^[ \t]*package[ ]+[\w.]+;
        """,
    ),
    "go": (
        r"""
        ^[ \t]*package[ ]+\w+[ \t;]*$
        ^[ \t]*func[ ]+(?:\(\w+[ ][*\w\[\], ]+\)[ ]*)?\w+[ ]*(?:\[[^\]\n]*\])?\(
        \bfmt\.[A-Z]\w*\(
        """,
        r"""
        :=
        ^[ \t]*import[ ]*(?:\(|")
        :=[ ]*range\b|\bfor[ ]+range\b
        \b(?:bufio|os|strings|strconv|sort|math)\.[A-Z]\w*
        \b(?:defer|chan|go[ ]+func|make|append|interface\{\}|nil)\b
        """,
    ),
    "javascript": (
        r"""
        \bconsole[ ]*\.[ ]*(?:log|error|info|table)\b
        (?<![\w.])require[ ]*\(
        \bprocess\.(?:stdin|stdout|exit|on|argv|nextTick|stderr)\b
        ^[ \t]*import\b[^\n;]*\bfrom[ ]*["']
        ^[ \t]*(?:export[ ]+(?:default|const|function|class)\b|module\.exports\b)
        """,
        r"""
        \b(?:const|let)[ ]+(?:\w+|\[[^\]\n]{0,200}\]|\{[^}\n]{0,200}\})[ ]*(?:=|;|,|$|of\b)
        \bvar[ ]+\w+[ ]*(?:=|;|,|$)
        =>
        \bfunction\b[ ]*+(?:\*[ ]*+)?\w*+[ ]*+\(
        [!=]==
        \b(?:parseInt|parseFloat|Number|BigInt|String)\(|\bnew[ ]+(?:Map|Set|Array|Promise)\b|\bMath\.
        \.(?:split|forEach|map|push|join|length|trim|filter|reduce)\b
        \b(?:undefined|await|typeof|null)\b
        """,
    ),
}
"""Language -> what speaks for it: what settles it, then what another may say too; one regular expression a line."""

_FOREIGN_EVERYWHERE = r"""
    <\?php
    \bfn[ ]+\w+[ ]*[(<]
    \blet[ ]+mut\b
    \b\w+![ ]*[(\[]
    ^(?>.*?\bimpl\b).*\{[ ]*$
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
    ^[ \t]*(?:end|fi|done|esac)[ \t]*+(?:;[ \t]*+)?$
    \bthen[ \t]*$
    ^[ \t]*local[ ]+(?:function[ ]+)?\w+
    \bSTDIN\b
    \bstdin\.readLineSync\b
    ^[ \t]*@(?:interface|implementation|autoreleasepool|property)\b
    ^main[ ]+::|^main[ ]*=[ ]*do\b
    ^[ \t]*(?:elsif|elseif|unless|foreach|echo)\b[ ]*[^\s=.,)\]]
"""
_FOREIGN = {
    "python": r"""
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
        """,
    "cpp": r"""
        ^[ \t]*(?:let|var|func|def|pub|module|function|sub|use)[ ]+\w+
        \$\w
        ^[ \t]*import[ ]+(?:"|[\w.]+)
        ^[ \t]*\#import\b
        \bNSLog\b
        \bwriteln\b
        (?<![\w.])(?:println|print)\b
        """,
    "java": r"""
        ^[ \t]*using\b
        \bforeach[ ]*\(
        ^[ \t]*namespace\b
        \bstring\b
        \bbool\b
        \b(?:func|def|let)[ ]+\w+
        \w[ ]*:[ ]*(?:Int|String|number|string|boolean)\b
        (?<![\w.])(?:println|writeln|print)[ ]*\(
        ^[ \t]*import[ ]+"
        \{[ ]*get;
        \$\w
        """,
    "go": r"""
        \b(?:let|def|class|while|fun|guard|self|extends)\b
        ->
        \$\w
        (?<![\w.])print\b
        """,
    "javascript": r"""
        \w\??[ ]*:[ ]*(?:number|string|boolean|void|any|unknown|never|bigint|Int|String|Double)\b(?![ ]*\()
        \w\??\)?[ ]*:[ ]*\w+(?:<[^;\n]{0,80}>)?(?:\[\])*[ ]*(?:=[^=>]|=>|\{[ ]*$)
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
        """,
}

_BEYOND_C = r"""
    \b(?:std::|cin|cout|cerr|endl|nullptr|constexpr|static_cast|operator|delete|typename|virtual|throw|catch)
    \busing[ ]+(?:namespace\b|\w+[ ]*=)
    \btemplate[ ]*<
    ^[ \t]*(?:class|namespace)[ ]+\w+
    \b(?:vector|map|set|pair|queue|stack|priority_queue|string)[<&* ]*\w
    \bauto[ &*]+[\w\[]+[ ]*[=:\]]
    \bnew[ ]+\w
    ^[ \t]*\#[ \t]*include[ \t]*<[\w/+]+(?:\+\+\.h)?>
    ^[ \t]*(?:public|private|protected)[ ]*:
    \w[ ]*&[ ]*\w+[ ]*[,)][^;{]{0,200}\{
    \bfor[ ]*\([^;()]{0,200}[^:]:[^:]
    \[[&=\w, ]*\][ ]*\([^)]{0,200}\)[ ]*(?:->[ ]*\w+[ ]*)?\{
"""


@cache
def marks(language: str) -> list[tuple[re.Pattern[str], int]]:
    """What speaks for ``language``, and the points that each gives: 2 where that settles it, 1 where another may say it
    too."""
    return [
        (re.compile(line, re.MULTILINE), points)
        for text, points in zip(_MARKS[language], (2, 1), strict=True)
        for line in _lines(text)
    ]


@cache
def foreign(language: str) -> re.Pattern[str]:
    """Marks of languages outside the five, in code that is not wholly or not surely ``language``."""
    return _any(_FOREIGN_EVERYWHERE + _FOREIGN[language])


@cache
def beyond_c() -> re.Pattern[str]:
    """What plain C cannot say, or a header that is one of C++'s own."""
    return _any(_BEYOND_C)


def _any(text: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{line})" for line in _lines(text)), re.MULTILINE)


def _lines(text: str) -> list[str]:
    """The regular expressions of a text that holds one a line."""
    return [line.strip() for line in text.splitlines() if line.strip()]
