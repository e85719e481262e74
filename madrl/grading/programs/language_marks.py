"""What speaks for a language in a piece of code: regular expressions, each worth some points of evidence.

They are meant for code without comments and strings (a string may stand as ``""``), and serve as a rough guess on code
with them. A mark is searched at every place, in text that a model chose, and takes time linear in its length: what
could run past its match is bounded, starts where a line does, or takes the first of several ways and no other
(``(?>...)``); and of two repetitions that follow each other, none takes what the other could.
"""

import re


def _weighed(settling: str, shared: str) -> list[tuple[re.Pattern[str], int]]:
    """One regular expression a line."""
    return [
        (re.compile(line.strip(), re.MULTILINE), points)
        for text, points in ((settling, 2), (shared, 1))
        for line in text.strip().splitlines()
    ]


MARKS = {
    "python": _weighed(
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
    "cpp": _weighed(
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
    "java": _weighed(
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
    "go": _weighed(
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
    "javascript": _weighed(
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
"""What speaks for a language, and the points that it gives: 2 where that settles it, 1 where another may say it too."""


def _any(lines: str) -> re.Pattern[str]:
    """One regular expression a line."""
    return re.compile("|".join(f"(?:{line.strip()})" for line in lines.splitlines() if line.strip()), re.MULTILINE)


_ALL = r"""
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
        ^[ \t]*import[ ]+(?:"|[\w.]+)
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
        ^[ \t]*import[ ]+"
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
        """
    ),
}
"""Marks of languages outside the five, in code that is not wholly or not surely the language itself."""

BEYOND_C = _any(
    r"""
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
)
"""What plain C cannot say, or a header that is one of C++'s own."""
