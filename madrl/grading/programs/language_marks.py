"""What speaks for a language in a piece of code without its comments and strings: constructs, never single words.

A construct at the start of a line is written with the newline before it, which code that is searched starts with (bare).
A construct is a regular expression with the words of which one stands in whatever it matches: where none of
them is in the code, the expression isn't searched, which is most of them. A mark is searched at every place, in text
that a model chose, and takes time linear in its length: what could run past its match is bounded, starts where a line
does, or takes the first of several ways and no other (``(?>...)``); and of two repetitions that follow each other, none
takes what the other could.
"""

# ruff: noqa: E501 - one mark a line

import re
from functools import cache
from typing import NamedTuple

SETTLED, SHARED = 2, 1
"""Points of a mark that settles its language, and of one that another language may have too."""

MANY = 2
"""Constructs of other languages that no program has: of 2,500 real ones, 4 have one."""

_MARKS = {
    "python": (
        r"""
        def                | \n[ \t]*(?:async[ ]+)?def \w+[ ]*\(
        if for while with class except | \n[ \t]*(?:if|elif|for|while|with|class|except)\b.*:[ \t]*$
        else try finally for while if  | \n[ \t]*(?:(?:else|try|finally)[ ]*:|(?>for \w[\w, ]*?[ ]in\b|while\b|if\b|elif\b)[^{}\n]*:[ ]*\S)
        print              | (?<![\w.])print[ ]*\(|\n[ \t]*print[ ]+["\w(]
        input( range( enumerate( sorted( isinstance( zip( | (?<![\w.])(?:input|raw_input|range|enumerate|sorted|isinstance|zip)\(
        from               | \n[ \t]*from[ ]+[\w.]+[ ]+import\b
        sys. __name__      | \bsys\.(?:stdin|stdout|setrecursionlimit|exit|argv)\b|\b__name__\b
        """,
        r"""
        int( len( str( map( list( sum( open( set( dict( float( max( min( exit( | (?<![\w.])(?:int|len|str|map|list|sum|open|set|dict|float|max|min|exit)\(
        import             | \n[ \t]*import[ ]+\w+(?:\.\w+)*(?:[ ]as[ ]\w+)?(?:,[ ]*\w+)*[ \t]*$
        elif lambda None True False pass not~in is~not | \b(?:elif|lambda|None|True|False|pass|not in|is not)\b
        self.              | \bself\.
        ~in~               | for[ ][^\n;{}]{1,80}?[ ]in[ ]
        """,
    ),
    "cpp": (
        r"""
        include            | \n[ \t]*\#[ \t]*include\b
        cin cout cerr endl | \b(?:cin|cout|cerr|endl)\b
        std::              | \bstd::
        namespace          | using[ ]+namespace\b
        template           | \btemplate[ ]*<
        vector map set pair queue stack | \b(?:vector|unordered_map|map|set|pair|queue|priority_queue|stack|multiset)[ ]*<
        """,
        r"""
        main               | \bint[ ]+main[ ]*\(
        printf scanf puts getchar putchar malloc memset | \b(?:printf|scanf|puts|getchar|putchar|malloc|memset)[ ]*\(
        long unsigned size_t auto nullptr struct typedef sizeof | \b(?:long[ ]+long|unsigned|size_t|auto|nullptr|struct|typedef|sizeof)\b
        ->                 | \w->\w
        define ifdef ifndef pragma | \n[ \t]*\#[ \t]*(?:define|ifdef|ifndef|pragma)\b
        """,
    ),
    "java": (
        r"""
        void               | \bvoid[ ]+main[ ]*\([ ]*(?:final[ ]+)?String\b
        System             | \bSystem[ ]*\.[ ]*(?:out|in|err|exit|currentTimeMillis|nanoTime|arraycopy)\b
        import             | \n[ \t]*import[ ]+(?:static[ ]+)?javax?\.
        Scanner Reader Tokenizer Writer Builder List Map | (?:Scanner|BufferedReader|StringTokenizer|InputStreamReader|PrintWriter|StringBuilder|ArrayList|HashMap)[ ]*[<(]
        class              | \n[ \t]*(?:\w+[ ]+)*class[ ]+\w+[^\n{}();=]{0,80}+\s{0,80}+\{\s{0,80}+(?:(?:public|private|protected|static|final)[ ]+)*(?:<[\w, ]{0,40}>[ ]*)?(?!fun|def\b)[A-Za-z][\w.]*(?:<[\w<>, ?]{0,80}>)?(?:\[\])*[ ]+\w+[ ]*\([^(){};]{0,300}+\)[ ]*+(?:throws[ ]+[\w, ]{1,80}+)?\s{0,80}+\{
        """,
        r"""
        public private protected class | \b(?:public|private|protected)[ ]+(?:static[ ]+|final[ ]+|abstract[ ]+)*(?:class|interface|enum|record)\b
        public private protected | \b(?:public|private|protected)[ ]+(?:static[ ]+|final[ ]+)*\w+[ ]+\w+[ ]*\(
        String             | \bString\b(?:\[\])?
        implements throws final @Override instanceof | \b(?:implements|throws|final|instanceof)\b|@Override\b
        new                | \bnew[ ]+\w+[ ]*+(?:<[\w<>, ]{0,80}>[ ]*+)?[(\[]
        package            | \n[ \t]*package[ ]+[\w.]+;
        """,
    ),
    "go": (
        r"""
        package            | \n[ \t]*package[ ]+\w+[ \t;]*$
        func               | \n[ \t]*func[ ]+(?:\(\w+[ ][*\w\[\], ]+\)[ ]*)?\w+[ ]*(?:\[[^\]\n]*\])?\(
        fmt.               | \bfmt\.[A-Z]\w*\(
        """,
        r"""
        :=                 | :=
        import             | \n[ \t]*import[ ]*(?:\(|")
        :=~range for~range | (?::=|for) range\b
        bufio. os. strings. strconv. sort. math. | \b(?:bufio|os|strings|strconv|sort|math)\.[A-Z]\w*
        defer chan go make append interface nil | \b(?:defer|chan|go[ ]+func|make|append|nil)\b|\binterface\{\}
        """,
    ),
    "javascript": (
        r"""
        console            | \bconsole[ ]*\.[ ]*(?:log|error|info|table)\b
        require            | (?<![\w.])require[ ]*\(
        process.           | \bprocess\.(?:stdin|stdout|exit|on|argv|nextTick|stderr)\b
        import             | \n[ \t]*import\b[^\n;]*\bfrom[ ]*["']
        export             | \n[ \t]*(?:export[ ]+(?:default|const|function|class)\b|module\.exports\b)
        """,
        r"""
        const let          | \b(?:const|let)[ ]+(?:\w+|\[[^\]\n]{0,200}\]|\{[^}\n]{0,200}\})[ ]*(?:=|;|,|$|of\b)
        var                | \bvar[ ]+\w+[ ]*(?:=|;|,|$)
        =>                 | =>
        function           | \bfunction\b[ ]*+(?:\*[ ]*+)?\w*+[ ]*+\(
        ===  !==           | ===|!==
        parse Number BigInt String new Math. | \b(?:parseInt|parseFloat|Number|BigInt|String)\(|\bnew[ ]+(?:Map|Set|Array|Promise)\b|\bMath\.
        .split .forEach .map .push .join .length .trim .filter .reduce | \.(?:split|forEach|map|push|join|length|trim|filter|reduce)\b
        undefined await typeof null | \b(?:undefined|await|typeof|null)\b
        """,
    ),
}
"""Language -> what speaks for it: what is SETTLED by it, then what is SHARED."""

_FOREIGN_EVERYWHERE = r"""
    <?php        | <\?php
    fn~          | \bfn \w+[ ]*[(<]
    mut~         | \blet mut |\n[ \t]*mut \w
    !( ![ !! !. !] !) !, !; !: !~ | [\w)\]]!(?=[ ]?[(\[!]|[.\]),;:])
    impl         | \n[ \t]*(?:unsafe[ ]+)?impl\b.*\{[ ]*$
    using~System | \n[ \t]*using System
    import       | \n[ \t]*import[ ]+""[ ]+for\b
    System.      | \bSystem\.(?:print|write)\(
    Console.     | \bConsole\.(?:Write|Read|In|Out|Error)
    Main         | \bstatic[ ]+(?:async[ ]+)?(?:void|int|Task)[ ]+Main\b
    fun~         | \bfun (?:\w+\.)?\w+[ ]*[(<]
    val~ val(    | \n[ \t]*(?:private[ ]+|override[ ]+|lazy[ ]+)?val[ ]+\w+[ ]*[=:]|\n[ \t]*val[ ]*\(
    object       | \n[ \t]*(?:case[ ]+)?object[ ]+\w+[ ]*(?:\{|extends\b|:|$)
    Foundation Glibc scala. kotlin. std. Data. System.IO | \bimport[ ]+(?:Foundation|Glibc|scala\.|kotlin\.|std\.|Data\.|System\.IO)
    guard~let if~let | (?:guard|if) let\b
    my~          | \bmy[ ]+(?:[$@%]|\([ ]*[$@%])
    end fi done esac | \n[ \t]*(?:end|fi|done|esac)[ \t]*+(?:;[ \t]*+)?$
    then         | \bthen[ \t]*$
    local        | \n[ \t]*local[ ]+(?:function[ ]+\w|\w+[ \t]*(?:[=,]|$))
    STDIN        | <STDIN>|\bSTDIN[ ]*[,.)]
    stdin.readLine readLine(stdin) | stdin\.readLine(?:Sync)?\b|readLine\(stdin\)
    @            | \n[ \t]*@(?:interface|implementation|autoreleasepool|property)\b
    main         | \nmain[ ]+::|\nmain[ ]*=[ ]*do\b
    elsif elseif unless | \n[ \t]*(?:elsif|elseif|unless)\b[ ]*[\w$@]
    ::           | ::[ ]*(?:proc|struct|enum|union|distinct)\b
    ..           | (?<![.\d])\.\.(?![.\d])|[\w)\]]\.\.(?:[<=\w(]|[ ]\w)
    %% %in% %/% %o% %>% | %%|%in%|%/%|%o%|%>%
    |>           | \|>
    as.in as.num as.char readLines( paste( paste0( apply( vector( | \bas\.(?:integer|numeric|character)\(|\breadLines\(|\bpaste0?\(|\b[slvm]apply\(|\bvector\(""
    <-           | <-[ ]*function\b
    function     | \bfunction[ ]*\([^()\n]{0,200}\)[ ]+[\w(-]
    parse {Int} | \bparse\.?\((?:Int|Float)\d*\b|\{Int\}
    ÷ ∈ ≤ ≥ ≠ √  | [÷∈≤≥≠√]
    defmodule IO. | \n[ \t]*defmodule\b|\bIO\.(?:gets|puts|read|write)\b
    proc         | \n[ \t]*proc[ ]+\w+[ ]*[({]
    begin        | \n[ \t]*begin[ \t]*$
    BEGIN END    | \n[ \t]*(?:BEGIN|END)[ ]*\{
"""
"""Constructs of languages outside the five that none of the five has."""

_TYPESCRIPT = r"""
    :            | \b(?:let|const|var)[ ]+\w+[ ]*:[ ]*\w|\((?:[ ]*\w+[ ]*,){0,8}[ ]*\w+\??[ ]*:[ ]*[\w{\[(]|\)[ ]*:[ ]*\w[\w<>\[\]|, .]{0,60}(?:\{|=>)
    ?: ? :       | \w\?[ ]*:
    :            | \n[ \t]+(?!default\b)\w+[ ]*:[ ]*[A-Za-z][\w<>\[\]]*;[ \t]*$|\w[ ]*:[ ]*\w+(?:\[\])+
    :~number :~string :~boolean :~void :~unknown :~never :~bigint :~Int :~String :~Double :number :string :boolean | \w[ ]*:[ ]?(?:number|string|boolean|void|unknown|never|bigint|Int|String|Double)\b(?![ ]*[(.])
    as           | [\w)\]][ ]+as[ ]+(?:number|string|boolean|any|const|unknown|[A-Z]\w*\b(?![^\n]{0,80}\bfrom\b))
    satisfies implements keyof | [\w)\]}][ ]+(?:satisfies|implements|keyof)[ ]+\w
    interface enum namespace declare abstract type | \n[ \t]*(?:export[ ]+)?(?:interface|enum|namespace|declare|abstract|type)[ ]+\w+
    import       | \n[ \t]*import[ ]+type\b
    private public protected readonly | \b(?:private|public|protected|readonly)[ ]+\w
    new~         | new \w+<
    <number <string <boolean <any <unknown | <(?:number|string|boolean|any|unknown)\b
    function     | function[ ]*\w*<
    >(           | <[A-Z]\w*(?:,[ ]*[A-Z]\w*){0,4}>\(
    Array< Record< Map< Set< Promise< | \b(?:Array|Record|Map|Set|Promise)<
"""
"""What TypeScript has and JavaScript has not. A non-null assertion is in no language of the five."""

_FOREIGN = {
    "python": r"""
        let var const local my our func function sub proc use package public private static using | \n[ \t]*(?:let|var|const|local|my|our|func|function|sub|proc|use|using|package|public|private|static)[ ]+[\w$@%]
        int long double string auto char void | \n[ \t]*(?:int|long|double|string|auto|char|void)[ ]+\w+
        do           | \bdo[ \t]*(?:\|.*)?$
        puts println echo writeln say | \n[ \t]*(?:puts|println|echo|writeln|say)[ ]+["\w$@(]
        gets         | \bgets\.\w|=[ ]*gets\b[ \t]*$
        $            | \$\w
        <-           | \n[ \t]*\w+[ ]*<-[ ]
        ::           | \n[ \t]*\w+[ ]*::[ ]
        ->           | [\w\]][ ]*->
        ?            | [\w)\]][ ]*\?[ ]*[\w("].{0,80}:
        .(           | \w\.\(
        `            | `
        io.          | \bio\.(?:read|write|lines)\b
        && || ++     | &&|\|\||\+\+
        // /*        | \n[ \t]*(?://|/\*)
        else         | \}[ ]*else\b
        )            | \n[ \t]*\w+\([\w, ]*\)[ ]*=[^=]
    """,
    "cpp": r"""
        let var func def pub module function sub use | \n[ \t]*(?:let|var|func|def|pub|module|function|sub|use)[ ]+\w+
        $            | \$\w
        import       | \n[ \t]*\#?import[ ]+(?:["<]|[\w.]+)
        .(           | \w\.\(
        `            | `
        NSLog        | \bNSLog[ ]*\(
        puts echo print println | \n[ \t]*(?:puts|echo|println|print)[ ]+["\w$@]
        foreach      | \bforeach[ ]*\([^;()\n]{0,80};[^;()\n]{0,80}\.\.
    """,
    "java": r"""
        using        | \n[ \t]*using[ ]+[\w.(]
        foreach      | \bforeach[ ]*\(
        namespace    | \n[ \t]*namespace[ ]+\w
        string bool  | \b(?:string|bool)(?:\[\])?\??[ ]+\w+[ ]*[=;,(){:]
        func def let | \b(?:func|def|let)[ ]+\w+
        :Int :~Int :~String :~number :~string :~boolean | \w[ ]*:[ ]?(?:Int|String|number|string|boolean)\b
        import       | \n[ \t]*import[ ]+"
        .(           | \w\.\(
        `            | `
        get;         | \{[ ]*get;
        $            | \$\w
        =>           | =>
        puts echo print println | \n[ \t]*(?:puts|echo|println|print)[ ]+["\w$@]
        in           | \bvar[ ]+\w+[ ]+in\b
        ?. ??        | \w\?\.[A-Za-z]|\?\?
        new          | new[ ]*(?:\[\]|\{)
        <-           | \w[ ]*<-
    """,
    "go": r"""
        let def class while guard extends | \n[ \t]*(?:let|def|class|while|guard|extends)[ ]+\w|\bwhile[ ]*\(
        ->           | ->
        $            | \$\w
        :            | \n[ \t]*(?!default\b|case\b)\w+[ ]*:[ ]*[\w\[\]\n.]+[ ]*=[^=]
        ::           | \w[ ]*::
        puts echo print println | \n[ \t]*(?:puts|echo|println|print)[ ]+["\w$@]
    """,
    "javascript": _TYPESCRIPT
    + r"""
        func def sub use package local elif | \n[ \t]*(?:func|def|sub|use|package|local|elif)[ ]+\w
        using        | \n[ \t]*using \w[\w.:, ]*+$
        $            | \n[ \t]*\$\w+[ ]*=[^=]*\$\w
        puts echo print println gets writeln say cat | \n[ \t]*(?:puts|echo|println|print|gets|writeln|say)[ ]+["\w$@(]
        .(           | \w\.\(
        int.parse    | \bint\.parse\b
        int double void String bool final List | \n[ \t]*(?:int|double|void|String|bool|final|List<\w+>)[ ]+\w+
        ->           | ->
        <-           | \n[ \t]*[\w.]+(?:\[[^\]\n]{0,80}\])?[ ]*<-
        in           | \bin[ ]+[\w().]+(?::|[ ]?\.\.)[\w(]|\bfor[ ]+\w+[ ]+in\b
        )            | \n[ \t]*\w+\([\w, ]*\)[ ]*=[^=>]
        if while else | \n[ \t]*(?:if|while|else|elif)\b[^\n{}()?]*:[ \t]*$
    """,
}
"""Language -> constructs of languages outside the five that it doesn't have, though another of the five may."""

_BUILTINS = {
    "python": "puts println writeln scan nchar",
    "cpp": "writeln writefln readf readln",
    "java": "print println writeln readLine readln puts",
    "go": "writeln readLine readln puts",
    "javascript": "print println puts gets writeln cat echo readLine readln readline scan stdout paste paste0 nchar",
}
"""Language -> what is built into languages outside the five, and in it is nothing that isn't declared."""

_BEYOND_C = r"""
    std:: cin cout cerr endl nullptr constexpr static_cast operator delete typename virtual throw catch | \b(?:std::|cin|cout|cerr|endl|nullptr|constexpr|static_cast|operator|delete|typename|virtual|throw|catch)
    using        | \busing[ ]+(?:namespace\b|\w+[ ]*=)
    template     | \btemplate[ ]*<
    class namespace | \n[ \t]*(?:class|namespace)[ ]+\w+
    vector map set pair queue stack string | \b(?:vector|map|set|pair|queue|stack|priority_queue|string)[<&* ]*\w
    auto         | \bauto[ &*]+[\w\[]+[ ]*[=:\]]
    new          | \bnew[ ]+\w
    include      | \n[ \t]*\#[ \t]*include[ \t]*<[\w/+]+(?:\+\+\.h)?>
    public private protected | \n[ \t]*(?:public|private|protected)[ ]*:
    &            | \w[ ]*&[ ]*\w+[ ]*[,)][^;{]{0,200}\{
    for          | \bfor[ ]*\([^;()]{0,200}[^:]:[^:]
    ]            | \[[&=\w, ]*\][ ]*\([^)]{0,200}\)[ ]*(?:->[ ]*\w+[ ]*)?\{
"""


class Mark(NamedTuple):
    """A construct."""

    words: tuple[str, ...]
    """One of them, at least, is part of whatever the pattern matches."""
    pattern: re.Pattern[str]

    def __call__(self, bare: str) -> bool:
        """Whether the construct is in the code."""
        for word in self.words:
            if word in bare:
                return self.pattern.search(bare) is not None
        return False


def points(bare: str, language: str) -> int:
    """What speaks for ``language``: SETTLED or SHARED points for each of its marks."""
    return sum(worth for mark, worth in marks(language) if mark(bare))


def foreign_constructs(bare: str, language: str) -> int:
    """How many constructs of languages outside the five there are in code that may be ``language``; MANY at most."""
    found = int(_calls_what_is_not_there(bare, language))
    for mark in foreign(language):
        if found == MANY:
            break
        found += mark(bare)
    return found


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
    """The marks of a text that holds one a line: words, in which a tilde is a space, and a regular expression."""
    rows = (line.strip().split(" | ", 1) for line in text.splitlines() if line.strip())
    return [
        Mark(tuple(word.replace("~", " ") for word in words.split()), re.compile(pattern.strip(), re.MULTILINE))
        for words, pattern in rows
    ]


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
            re.compile(rf"{name}(?<![\w.:>]{name})[ ]*\("),
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
