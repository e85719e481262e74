"""What a source file must be called for its compiler to take it, where the program itself says so."""

import re

# These read hostile programs, in a worker and outside of any jail. A comment or literal that never closes is matched to
# the end, so that no character is read again from the next opening, and no repetition gives back what it has taken.
_COMMENT = r"//[^\n]*+ | /\*(?:[^*]++|\*(?!/))*+(?:\*/)?"
_QUOTED = r""" "(?:[^"\\\n]++|\\.)*+"? | '(?:[^'\\\n]++|\\.)*+'? """
_JAVA_TEXT_BLOCK = r""" \"{3}(?:[^"\\]++|\\.|"(?!""))*+(?:\"{3})? """
_JAVASCRIPT_TEMPLATE = r"`(?:[^`\\]++|\\.)*+`?"
_JAVA_COMMENT_OR_LITERAL = re.compile(f"{_COMMENT} | {_JAVA_TEXT_BLOCK} | {_QUOTED}", re.DOTALL | re.VERBOSE)
_JAVASCRIPT_COMMENT_OR_LITERAL = re.compile(
    f"(?P<comment>{_COMMENT}) | {_JAVASCRIPT_TEMPLATE} | {_QUOTED}", re.DOTALL | re.VERBOSE
)
_JAVA_ANNOTATION = re.compile(r"@(?!interface\b)[\w.]++(?:\s*+\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\))?")
_JAVA_TOKEN = re.compile(
    r"[{}]|\bpublic\s++(?:(?:abstract|final|sealed|strictfp|static|non-sealed)\s++)*+"
    r"(?:class|interface|enum|record|@interface)\s++([\w$]++)"
)


def java_source_name(code: str) -> str:
    """The name of the file, which javac wants to be that of the public top-level type."""
    code = _JAVA_ANNOTATION.sub(" ", _JAVA_COMMENT_OR_LITERAL.sub(" ", code))
    depth = 0
    for token in _JAVA_TOKEN.finditer(code):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0 and token[1]:
            return f"{token[1]}.java" if len(token[1].encode()) < 200 else "Main.java"
    return "Main.java"


# [^\S\n] is the white space of one line: with that of the lines before, each blank line would be one more start to try.
_ES_MODULE = re.compile(
    r"(?:^|[;}])[^\S\n]*+"
    r"(?:import(?:\s++\w|\s*+[*{\"])|export(?:\s++(?:default|const|function|async|class|let|var)\b|\s*+[*{]))",
    re.MULTILINE,
)


def javascript_source_name(code: str) -> str:
    """The name of the file: that of an ES module when the program imports like one and never calls require()."""
    code = _JAVASCRIPT_COMMENT_OR_LITERAL.sub(lambda found: " " if found["comment"] else '""', code)
    return "main.mjs" if _ES_MODULE.search(code) and "require(" not in code else "main.js"
