"""What speaks for a language in a piece of code without its comments and strings: constructs, never single words.

A construct is written as a regular expression with the words of which one stands in whatever it matches: where none of
them is in the code, the expression isn't searched, which is most of them. A mark is searched at every place, in text
that a model chose, and takes time linear in its length: what could run past its match is bounded, starts where a line
does, or takes the first of several ways and no other (``(?>...)``); and of two repetitions that follow each other, none
takes what the other could.
"""

import re
from functools import cache
from typing import NamedTuple

SETTLED, SHARED = 2, 1
"""Points of a mark that settles its language, and of one that another language may have too."""

_MARKS = {
    "python": (
        r"""
        def                | ^[ \t]*(?:async[ ]+)?def \w+[ ]*\(
        if for while with class except | ^[ \t]*(?:if|elif|for|while|with|class|except)\b.*:[ \t]*$
        else try finally for while if  | ^[ \t]*(?:else|try|finally)[ ]*:|^[ \t]*(?>for \w[\w, ]*?[ ]in\b|while\b|if\b|elif\b)[^{}\n]*:[ ]*\S
        print              | (?<![\w.])print[ ]*\(|^[ \t]*print[ ]+["\w(]
        input( range( enumerate( sorted( isinstance( zip( | (?<![\w.])(?:input|raw_input|range|enumerate|sorted|isinstance|zip)\(
        from               | ^[ \t]*from[ ]+[\w.]+[ ]+import\b
        sys. __name__      | \bsys\.(?:stdin|stdout|setrecursionlimit|exit|argv)\b|\b__name__\b
        """,
        r"""
        int( len( str( map( list( sum( open( set( dict( float( max( min( exit( | (?<![\w.])(?:int|len|str|map|list|sum|open|set|dict|float|max|min|exit)\(
        import             | ^[ \t]*import[ ]+\w+(?:\.\w+)*(?:[ ]as[ ]\w+)?(?:,[ ]*\w+)*[ \t]*$
        elif lambda None True False pass not is | \b(?:elif|lambda|None|True|False|pass|not in|is not)\b
        self.              | \bself\.
        for                | \bfor\b[^\n;{}]{1,80}?\bin\b
        """,
    ),
    "cpp": (
        r"""
        include            | ^[ \t]*\#[ \t]*include\b
        cin cout cerr endl | \b(?:cin|cout|cerr|endl)\b
        std::              | \bstd::
        namespace          | \busing[ ]+namespace\b
        template           | \btemplate[ ]*<
        vector map set pair queue stack | \b(?:vector|unordered_map|map|set|pair|queue|priority_queue|stack|multiset)[ ]*<
        """,
        r"""
        main               | \bint[ ]+main[ ]*\(
        printf scanf puts getchar putchar malloc memset | \b(?:printf|scanf|puts|getchar|putchar|malloc|memset)[ ]*\(
        long unsigned size_t auto nullptr struct typedef sizeof | \b(?:long[ ]+long|unsigned|size_t|auto|nullptr|struct|typedef|sizeof)\b
        ->                 | \w->\w
        define ifdef ifndef pragma | ^[ \t]*\#[ \t]*(?:define|ifdef|ifndef|pragma)\b
        """,
    ),
    "java": (
        r"""
        main               | \bstatic[ ]+(?:final[ ]+)?void[ ]+main[ ]*\(
        System             | \bSystem[ ]*\.[ ]*(?:out|in|err|exit|currentTimeMillis|nanoTime|arraycopy)\b
        import             | ^[ \t]*import[ ]+(?:static[ ]+)?javax?\.
        Scanner Reader Tokenizer Writer Builder List Map | (?:Scanner|BufferedReader|StringTokenizer|InputStreamReader|PrintWriter|StringBuilder|ArrayList|HashMap)[ ]*[<(]
        class              | ^[ \t]*(?:\w+[ ]+)*class[ ]+\w+[^\n{}();=]{0,80}+\s{0,80}+\{\s{0,80}+(?:(?:public|private|protected|static|final)[ ]+)*(?:<[\w, ]{0,40}>[ ]*)?[A-Za-z][\w.]*(?:<[\w<>, ?]{0,80}>)?(?:\[\])*[ ]+\w+[ ]*\([^(){};]{0,300}+\)[ ]*+(?:throws[ ]+[\w, ]{1,80}+)?\s{0,80}+\{
        """,
        r"""
        public private protected class | \b(?:public|private|protected)[ ]+(?:static[ ]+|final[ ]+|abstract[ ]+)*(?:class|interface|enum|record)\b
        public private protected | \b(?:public|private|protected)[ ]+(?:static[ ]+|final[ ]+)*\w+[ ]+\w+[ ]*\(
        String             | \bString\b(?:\[\])?
        implements throws final @Override instanceof | \b(?:implements|throws|final|instanceof)\b|@Override\b
        new                | \bnew[ ]+\w+[ ]*+(?:<[\w<>, ]{0,80}>[ ]*+)?[(\[]
        package            | ^[ \t]*package[ ]+[\w.]+;
        """,
    ),
    "go": (
        r"""
        package            | ^[ \t]*package[ ]+\w+[ \t;]*$
        func               | ^[ \t]*func[ ]+(?:\(\w+[ ][*\w\[\], ]+\)[ ]*)?\w+[ ]*(?:\[[^\]\n]*\])?\(
        fmt.               | \bfmt\.[A-Z]\w*\(
        """,
        r"""
        :=                 | :=
        import             | ^[ \t]*import[ ]*(?:\(|")
        range              | :=[ ]*range\b|\bfor[ ]+range\b
        bufio. os. strings. strconv. sort. math. | \b(?:bufio|os|strings|strconv|sort|math)\.[A-Z]\w*
        defer chan go make append interface nil | \b(?:defer|chan|go[ ]+func|make|append|nil)\b|\binterface\{\}
        """,
    ),
    "javascript": (
        r"""
        console            | \bconsole[ ]*\.[ ]*(?:log|error|info|table)\b
        require            | (?<![\w.])require[ ]*\(
        process.           | \bprocess\.(?:stdin|stdout|exit|on|argv|nextTick|stderr)\b
        import             | ^[ \t]*import\b[^\n;]*\bfrom[ ]*["']
        export             | ^[ \t]*(?:export[ ]+(?:default|const|function|class)\b|module\.exports\b)
        """,
        r"""
        const let          | \b(?:const|let)[ ]+(?:\w+|\[[^\]\n]{0,200}\]|\{[^}\n]{0,200}\})[ ]*(?:=|;|,|$|of\b)
        var                | \bvar[ ]+\w+[ ]*(?:=|;|,|$)
        =>                 | =>
        function           | \bfunction\b[ ]*+(?:\*[ ]*+)?\w*+[ ]*+\(
        ===  !==           | [!=]==
        parse Number BigInt String new Math. | \b(?:parseInt|parseFloat|Number|BigInt|String)\(|\bnew[ ]+(?:Map|Set|Array|Promise)\b|\bMath\.
        .split .forEach .map .push .join .length .trim .filter .reduce | \.(?:split|forEach|map|push|join|length|trim|filter|reduce)\b
        undefined await typeof null | \b(?:undefined|await|typeof|null)\b
        """,
    ),
}
"""Language -> what speaks for it: what is SETTLED by it, then what is SHARED."""

_FOREIGN_EVERYWHERE = r"""
    <?php        | <\?php
    fn           | \bfn[ ]+\w+[ ]*[(<]
    mut          | \blet[ ]+mut\b|^[ \t]*mut[ ]+\w
    !            | [\w)\]]!(?=[ ]*[(\[!]|[.\]),;:]|[ \t]*$)
    impl         | ^[ \t]*(?:unsafe[ ]+)?impl\b.*\{[ ]*$
    using        | ^[ \t]*using[ ]+System
    Console.     | \bConsole\.(?:Write|Read|In|Out|Error)
    Main         | \bstatic[ ]+(?:async[ ]+)?(?:void|int|Task)[ ]+Main\b
    fun          | \bfun[ ]+(?:\w+\.)?\w+[ ]*[(<]
    val          | ^[ \t]*(?:private[ ]+|override[ ]+|lazy[ ]+)?val[ ]+\w+[ ]*[=:]|^[ \t]*val[ ]*\(
    object       | ^[ \t]*(?:case[ ]+)?object[ ]+\w+[ ]*(?:\{|extends\b|:|$)
    import       | \bimport[ ]+(?:Foundation|Glibc|scala\.|kotlin\.|std\.|Data\.|System\.IO)
    guard if     | \b(?:guard|if)[ ]+let\b
    my           | \bmy[ ]+(?:[$@%]|\([ ]*[$@%])
    end fi done esac | ^[ \t]*(?:end|fi|done|esac)[ \t]*+(?:;[ \t]*+)?$
    then         | \bthen[ \t]*$
    local        | ^[ \t]*local[ ]+(?:function[ ]+\w|\w+[ \t]*(?:[=,]|$))
    STDIN        | <STDIN>|\bSTDIN[ ]*[,.)]
    stdin        | \bstdin\.readLine(?:Sync)?\b|\breadLine\(stdin\)
    @            | ^[ \t]*@(?:interface|implementation|autoreleasepool|property)\b
    main         | ^main[ ]+::|^main[ ]*=[ ]*do\b
    els unless   | ^[ \t]*(?:elsif|elseif|unless)\b[ ]*[\w$@]
    ::           | ::[ ]*(?:proc|struct|enum|union|distinct)\b
    ..           | (?<![.\d])\.\.(?![.\d])|[\w)\]]\.\.(?:[<=\w(]|[ ]\w)
    .(           | \w\.\(
    % %in        | [\w)\]][ ]*%(?:%|in%|/%|o%|>%)
    |>           | \|>
    as. readLines paste apply vector | \bas\.(?:integer|numeric|character)\(|\breadLines\(|\bpaste0?\(|\b[slvm]apply\(|\bvector\(""
    <-           | <-[ ]*function\b
    function     | \bfunction[ ]*\([^()\n]{0,200}\)[ ]+[\w(-]
    (Int, (Float64, (Int | \bparse\.?\((?:Int|Float)\d*\b|\{Int\}
    ÷ ∈ ≤ ≥ ≠ √  | [÷∈≤≥≠√]
    defmodule IO. | ^[ \t]*defmodule\b|\bIO\.(?:gets|puts|read|write)\b
    proc         | ^[ \t]*proc[ ]+\w+[ ]*[({]
    begin        | ^[ \t]*begin[ \t]*$
    BEGIN END    | ^[ \t]*(?:BEGIN|END)[ ]*\{
"""
"""Constructs of languages outside the five that none of the five has."""

_TYPESCRIPT = r"""
    :            | \b(?:let|const|var)[ ]+\w+[ ]*:[ ]*\w|\((?:[ ]*\w+[ ]*,){0,8}[ ]*\w+\??[ ]*:[ ]*[\w{\[(]|\)[ ]*:[ ]*\w[\w<>\[\]|, .]{0,60}(?:\{|=>)
    ?: ? :       | \w\?[ ]*:
    :            | ^[ \t]+(?!default\b)\w+[ ]*:[ ]*[A-Za-z][\w<>\[\]]*;[ \t]*$|\w[ ]*:[ ]*\w+(?:\[\])+
    : Int String | \w[ ]*:[ ]*(?:number|string|boolean|void|unknown|never|bigint|Int|String|Double)\b(?![ ]*[(.])
    as           | [\w)\]][ ]+as[ ]+(?:number|string|boolean|any|const|unknown|[A-Z]\w*\b(?![^\n]{0,80}\bfrom\b))
    satisfies implements keyof | [\w)\]}][ ]+(?:satisfies|implements|keyof)[ ]+\w
    interface enum namespace declare abstract type | ^[ \t]*(?:export[ ]+)?(?:interface|enum|namespace|declare|abstract|type)[ ]+\w+
    import       | ^[ \t]*import[ ]+type\b
    private public protected readonly | \b(?:private|public|protected|readonly)[ ]+\w
    <            | \bnew[ ]+\w+<|<(?:number|string|boolean|any|unknown)\b|\bfunction[ ]*\w*<|<[A-Z]\w*(?:,[ ]*[A-Z]\w*){0,4}>[ ]*\(|\b(?:Array|Record|Map|Set|Promise)<
"""
"""What TypeScript has and JavaScript has not. A non-null assertion is in no language of the five."""

_FOREIGN = {
    "python": r"""
        let var const local my our func function sub proc use package public private static using | ^[ \t]*(?:let|var|const|local|my|our|func|function|sub|proc|use|using|package|public|private|static)[ ]+[\w$@%]
        int long double string auto char void | ^[ \t]*(?:int|long|double|string|auto|char|void)[ ]+\w+
        do           | \bdo[ \t]*(?:\|.*)?$
        puts println echo writeln say | ^[ \t]*(?:puts|println|echo|writeln|say)[ ]+["\w$@(]
        gets         | \bgets\.\w|=[ ]*gets\b[ \t]*$
        $            | \$\w
        <-           | ^[ \t]*\w+[ ]*<-[ ]
        ::           | ^[ \t]*\w+[ ]*::[ ]
        ->           | [\w\]][ ]*->
        ?            | [\w)\]][ ]*\?[ ]*[\w("].{0,80}:
        io.          | \bio\.(?:read|write|lines)\b
        && || ++     | &&|\|\||\+\+
        // /*        | ^[ \t]*(?://|/\*)
        else         | \}[ ]*else\b
        )            | ^[ \t]*\w+\([\w, ]*\)[ ]*=[^=]
    """,
    "cpp": r"""
        let var func def pub module function sub use | ^[ \t]*(?:let|var|func|def|pub|module|function|sub|use)[ ]+\w+
        $            | \$\w
        import       | ^[ \t]*\#?import[ ]+(?:["<]|[\w.]+)
        NSLog        | \bNSLog[ ]*\(
        puts echo print println | ^[ \t]*(?:puts|echo|println|print)[ ]+["\w$@]
        foreach      | \bforeach[ ]*\([^;()\n]{0,80};[^;()\n]{0,80}\.\.
    """,
    "java": r"""
        using        | ^[ \t]*using[ ]+[\w.(]
        foreach      | \bforeach[ ]*\(
        namespace    | ^[ \t]*namespace[ ]+\w
        string bool  | \b(?:string|bool)(?:\[\])?\??[ ]+\w+[ ]*[=;,(){:]
        func def let | \b(?:func|def|let)[ ]+\w+
        : Int String | \w[ ]*:[ ]*(?:Int|String|number|string|boolean)\b
        import       | ^[ \t]*import[ ]+"
        get;         | \{[ ]*get;
        $            | \$\w
        =>           | =>
        puts echo print println | ^[ \t]*(?:puts|echo|println|print)[ ]+["\w$@]
        in           | \bvar[ ]+\w+[ ]+in\b
        ?. ??        | \w\?\.[A-Za-z]|\?\?
        new          | \bnew[ ]*(?:\[\]|\{)
        <-           | \w[ ]*<-
    """,
    "go": r"""
        let def class while guard extends | ^[ \t]*(?:let|def|class|while|guard|extends)[ ]+\w|\bwhile[ ]*\(
        ->           | ->
        $            | \$\w
        :            | ^[ \t]*(?!default\b|case\b)\w+[ ]*:[ ]*[\w\[\]^.]+[ ]*=[^=]
        ::           | \w[ ]*::
        puts echo print println | ^[ \t]*(?:puts|echo|println|print)[ ]+["\w$@]
    """,
    "javascript": _TYPESCRIPT
    + r"""
        func def sub use package local elif | ^[ \t]*(?:func|def|sub|use|package|local|elif)[ ]+\w
        $            | ^[ \t]*\$\w+[ ]*=[^=]*\$\w
        puts echo print println gets writeln say cat | ^[ \t]*(?:puts|echo|println|print|gets|writeln|say)[ ]+["\w$@(]
        parse(       | \bint\.parse\b
        int double void String bool final List | ^[ \t]*(?:int|double|void|String|bool|final|List<\w+>)[ ]+\w+
        ->           | ->
        <-           | ^[ \t]*[\w.]+(?:\[[^\]\n]{0,80}\])?[ ]*<-
        in           | \bin[ ]+[\w().]+(?::|[ ]?\.\.)[\w(]|\bfor[ ]+\w+[ ]+in\b
        )            | ^[ \t]*\w+\([\w, ]*\)[ ]*=[^=>]
        if while else | ^[ \t]*(?:if|while|else|elif)\b[^\n{}()?]*:[ \t]*$
    """,
}
"""Language -> constructs of languages outside the five that it doesn't have, though another of the five may."""

_BUILTINS = {
    "python": "puts println writeln",
    "cpp": "writeln writefln readf readln",
    "java": "print println writeln readLine readln puts",
    "go": "writeln readLine readln puts",
    "javascript": "print println puts gets writeln cat echo readLine readln readline",
}
"""Language -> what is built into languages outside the five, and in it is nothing that isn't declared."""

_BEYOND_C = r"""
    std:: cin cout cerr endl nullptr constexpr static_cast operator delete typename virtual throw catch | \b(?:std::|cin|cout|cerr|endl|nullptr|constexpr|static_cast|operator|delete|typename|virtual|throw|catch)
    using        | \busing[ ]+(?:namespace\b|\w+[ ]*=)
    template     | \btemplate[ ]*<
    class namespace | ^[ \t]*(?:class|namespace)[ ]+\w+
    vector map set pair queue stack string | \b(?:vector|map|set|pair|queue|stack|priority_queue|string)[<&* ]*\w
    auto         | \bauto[ &*]+[\w\[]+[ ]*[=:\]]
    new          | \bnew[ ]+\w
    include      | ^[ \t]*\#[ \t]*include[ \t]*<[\w/+]+(?:\+\+\.h)?>
    public private protected | ^[ \t]*(?:public|private|protected)[ ]*:
    &            | \w[ ]*&[ ]*\w+[ ]*[,)][^;{]{0,200}\{
    for          | \bfor[ ]*\([^;()]{0,200}[^:]:[^:]
    ](           | \[[&=\w, ]*\][ ]*\([^)]{0,200}\)[ ]*(?:->[ ]*\w+[ ]*)?\{
"""


class Mark(NamedTuple):
    """A construct."""

    words: tuple[str, ...]
    """One of them, at least, is part of whatever the pattern matches."""
    pattern: re.Pattern[str]

    def __call__(self, bare: str) -> bool:
        """Whether the construct is in the code."""
        return any(word in bare for word in self.words) and self.pattern.search(bare) is not None


def points(bare: str, language: str) -> int:
    """What speaks for ``language``: SETTLED or SHARED points for each of its marks."""
    return sum(worth for mark, worth in marks(language) if mark(bare))


def is_foreign(bare: str, language: str) -> bool:
    """Whether there is a construct of a language outside the five, in code that may be ``language``."""
    return any(mark(bare) for mark in foreign(language)) or _calls_what_is_not_there(bare, language)


def is_beyond_c(bare: str) -> bool:
    """Whether there is what plain C cannot say, or a header that is one of C++'s own."""
    return any(mark(bare) for mark in beyond_c())


@cache
def marks(language: str) -> list[tuple[Mark, int]]:
    """What speaks for ``language``, and the points that each gives."""
    return [
        (mark, worth)
        for text, worth in zip(_MARKS[language], (SETTLED, SHARED), strict=True)
        for mark in _marks(text)
    ]  # fmt: skip


@cache
def foreign(language: str) -> list[Mark]:
    """Constructs of languages outside the five, where the code may be ``language``."""
    return _marks(_FOREIGN_EVERYWHERE + _FOREIGN[language])


@cache
def beyond_c() -> list[Mark]:
    """Constructs of C++ that are none of C's."""
    return _marks(_BEYOND_C)


def _marks(text: str) -> list[Mark]:
    """The marks of a text that holds one a line: words, a bar between spaces, and the regular expression."""
    rows = (line.strip().split(" | ", 1) for line in text.splitlines() if line.strip())
    return [Mark(tuple(words.split()), re.compile(pattern.strip(), re.MULTILINE)) for words, pattern in rows]


class _Builtin(NamedTuple):
    """A function that a language outside the five has."""

    name: str
    call: re.Pattern[str]
    declaration: re.Pattern[str]


@cache
def _builtins(language: str) -> list[_Builtin]:
    return [
        _Builtin(
            name,
            re.compile(rf"(?<![\w.:>]){name}[ ]*\("),
            re.compile(
                rf"\b(?!(?:return|else|do|await|then)\b)\w[\w<>,:\[\]]{{0,40}}+[ \t*&]++{name}\b|\b{name}[ ]*[=,}}]"
            ),
        )
        for name in _BUILTINS[language].split()
    ]


def _calls_what_is_not_there(bare: str, language: str) -> bool:
    return any(
        builtin.name in bare and builtin.call.search(bare) and not builtin.declaration.search(bare)
        for builtin in _builtins(language)
    )
