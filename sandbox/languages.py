"""The five languages: what each needs on the machine, how it is compiled and how it is run.

Compiling and running both happen in a sandbox; the preparations here (a precompiled header, a class-data archive, Go's
standard library) run outside once, on our own input, and are kept in the state folder under the toolchain's version.
"""

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sandbox.backends import View
from sandbox.classfile import main_class
from sandbox.errors import ToolchainMissingError
from sandbox.runtime_view import runtime_view
from sandbox.state import SOURCE, built

SOURCES, OUTPUT = "/tmp/src", "/tmp/out"
"""The folders that a compiler reads from and writes to in its sandbox. What it leaves in OUTPUT becomes the artifact,
which a program sees at /box."""


@dataclass(frozen=True)
class Toolchain:
    """A language that works on this machine."""

    name: str
    version: str
    compile_command: tuple[str, ...]
    """The command to run in SOURCES, where "{source}" stands for the source file's name."""
    run_command: tuple[str, ...] | None
    """The command in which "{memory_mb}" and "{entry}" are filled in. None stands for the Python zygote."""
    memory_overhead_mb: int
    """Memory that the runtime itself takes. It is added to the program's limit."""
    compile_view: View = field(default_factory=View)
    run_view: View = field(default_factory=View)
    bounded_address_space: bool = False
    loop_command: tuple[str, ...] | None = None
    """The command of a process that takes every test, as ``box.run(resident=True)`` wants it. None: there is none."""
    out_of_memory: str = "\0"
    """The text that the runtime writes to stderr when it meets its own memory limit."""

    @property
    def fingerprint(self) -> str:
        """A hash of all that can change the result of a compilation, but for the source."""
        return hashlib.sha256(repr((self.version, self.compile_command)).encode()).hexdigest()

    def source_name(self, code: str) -> str:
        """The name that the source must have for the compiler to take it."""
        return SOURCE_NAMES[self.name](code)

    def entry(self, files: Mapping[str, bytes]) -> str:
        """The compiled file to run, or Java's main class. Raises KeyError or StopIteration when there is none."""
        if self.name == "java":
            return main_class(files)
        return next(name for name in files if name.startswith("main"))


def filled_in(command: tuple[str, ...] | None, entry: str, memory_mb: int) -> list[str] | None:
    """The argument vector of a Toolchain's ``run_command`` or ``loop_command``; None where that is None."""
    return None if command is None else [part.format(memory_mb=memory_mb, entry=entry) for part in command]


# These read hostile programs, in a worker and outside of any jail. A comment or literal that never closes is matched to
# the end, so that no character is read again from the next opening, and no repetition gives back what it has taken.
_JAVA_COMMENT_OR_LITERAL = re.compile(
    r"""
      //[^\n]*+
    | /\*(?:[^*]++|\*(?!/))*+(?:\*/)?
    | \"{3}(?:[^"\\]++|\\.|"(?!""))*+(?:\"{3})?
    | "(?:[^"\\\n]++|\\.)*+"?
    | '(?:[^'\\\n]++|\\.)*+'?
    """,
    re.DOTALL | re.VERBOSE,
)
_JAVA_ANNOTATION = re.compile(r"@(?!interface\b)[\w.]++(?:\s*+\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\))?")
_JAVA_TOKEN = re.compile(
    r"[{}]|\bpublic\s++(?:(?:abstract|final|sealed|strictfp|static|non-sealed)\s++)*+"
    r"(?:class|interface|enum|record|@interface)\s++([\w$]++)"
)


def _java_source(code: str) -> str:
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
    r"^[^\S\n]*+(?:import\s++[\w*{'\"]|export\s++(?:default|const|function|class|let|var|\{))", re.MULTILINE
)


def _javascript_source(code: str) -> str:
    """The name of the file: that of an ES module when the program imports like one and never calls require()."""
    return "main.mjs" if _ES_MODULE.search(code) and "require(" not in code else "main.js"


SOURCE_NAMES = {
    "python": lambda code: "main.py",
    "cpp": lambda code: "main.cpp",
    "java": _java_source,
    "go": lambda code: "main.go",
    "javascript": _javascript_source,
}

ALIASES = {
    "python": ("py", "python3"),
    "cpp": ("c++", "cc", "cxx", "c"),
    "java": (),
    "go": ("golang",),
    "javascript": ("js", "node", "nodejs"),
}

CANARIES = {
    "python": "print(sum(map(int, input().split())))",
    "cpp": "#include <bits/stdc++.h>\nint main() { long long a, b; std::cin >> a >> b;\n"
    "std::cout << a + b << std::endl; }",
    "java": "import java.util.*;\npublic class Canary { public static void main(String[] args) {\n"
    "Scanner in = new Scanner(System.in); System.out.println(in.nextLong() + in.nextLong()); } }",
    "go": 'package main\nimport ("bufio"; "fmt"; "os"; "sort"; "strings"; "strconv"; "math")\nfunc main() {\n'
    "var a, b int; fmt.Fscan(bufio.NewReader(os.Stdin), &a, &b); sort.Ints([]int{b, a})\n"
    "fmt.Println(strings.TrimSpace(strconv.Itoa(a + b + int(math.Sqrt(0))))) }",
    "javascript": "const [a, b] = require('fs').readFileSync('/dev/stdin', 'utf8').split(' ').map(Number)\n"
    "console.log(a + b)",
}
"""Language -> a program that adds two numbers. It proves that the language works here, at the start and whenever a
sandbox is lost."""
CANARY_INPUT, CANARY_OUTPUT = "40 2\n", "42"


def language_of(name: str) -> str | None:
    """The canonical name of the language with this name or alias, in upper or lower case. None when there is none."""
    name = name.lower()
    return next((language for language, aliases in ALIASES.items() if name == language or name in aliases), None)


def _find(tool: str, package: str) -> Path:
    path = shutil.which(tool, path="/usr/bin:/usr/local/bin:/usr/local/go/bin:/bin")
    if path is None:
        raise ToolchainMissingError(f"{tool} is not installed: apt-get install {package}")
    return Path(path).resolve()


def _output(*command: str | Path, environment: dict[str, str] | None = None) -> str:
    clean = {"PATH": "/usr/bin:/bin", "TMPDIR": tempfile.gettempdir(), **(environment or {})}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=clean)
    if done.returncode:
        raise ToolchainMissingError(
            f"{' '.join(map(str, command))} failed: {(done.stderr or done.stdout).strip()[-300:]}"
        )
    return done.stdout or done.stderr


_SHELL = ("/usr/bin/sh", "/usr/bin/mkdir", "/usr/bin/cp")
"""What the compilers' command lines use. No sandbox in which a program runs has them."""


def python(state: Path) -> Toolchain:
    """Python by the system's interpreter. A jailed user cannot reach one in a home folder or a virtual environment."""
    if not Path("/usr/bin/python3").exists():
        raise ToolchainMissingError("/usr/bin/python3 is not installed: apt-get install python3")
    folders = "import sysconfig; print(*dict.fromkeys(map(sysconfig.get_path, ('stdlib', 'platstdlib'))), sep='\\n')"
    library = _output("/usr/bin/python3", "-I", "-S", "-c", folders).splitlines()
    own = ("/usr/bin/python3", *library)
    compiler = (
        "import marshal, sys, traceback\n"
        "try:\n"
        "    code = compile(open('main.py', 'rb').read(), '/box/main.py', 'exec', dont_inherit=True)\n"
        "except BaseException as error:\n"
        "    sys.exit(''.join(traceback.format_exception_only(error))[:20000])\n"
        f"marshal.dump(code, open('{OUTPUT}/main.bin', 'wb'))\n"
    )
    return Toolchain(
        name="python",
        version=_output("/usr/bin/python3", "--version").strip(),
        compile_command=("/usr/bin/python3", "-I", "-S", "-c", compiler),
        run_command=None,
        memory_overhead_mb=32,
        compile_view=runtime_view(state, "python-compiler", own[0], *_SHELL, extra=map(Path, library)),
        run_view=runtime_view(
            state,
            "python",
            *own,
            "/usr/lib/python3",  # the packages that Debian's own packages bring
            environment={"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
        ),
        bounded_address_space=True,
        out_of_memory="MemoryError",
    )


def cpp(state: Path) -> Toolchain:
    """C++ by g++. Programs are linked statically, because starting them costs half as much."""
    compiler = str(_find("g++", "g++"))
    flags = ("-std=gnu++20", "-O2", "-w")
    version = _output(compiler, "--version").splitlines()[0]

    def precompile(folder: Path) -> None:
        (folder / "bits").mkdir()
        (folder / "source.h").write_text("#include <bits/stdc++.h>\n")
        preprocessed = _output(compiler, *flags, "-E", "-H", folder / "source.h", "-o", "/dev/null")
        header = next(line.split(" ", 1)[1] for line in preprocessed.splitlines() if line.endswith("bits/stdc++.h"))
        _output(compiler, *flags, "-x", "c++-header", header, "-o", folder / "bits/stdc++.h.gch")

    headers = built(state, "cpp", (version, *flags), precompile)
    conversions = (*Path("/usr").glob("lib*/gconv"), *Path("/usr/lib").glob("*/gconv"))  # iconv's tables
    linker = ("-fuse-ld=gold",) if shutil.which("ld.gold", path="/usr/bin") else ()
    return Toolchain(
        name="cpp",
        version=version,
        compile_command=(
            compiler, *flags, "-I/sandbox/pch", "-fmax-errors=20", "-fdiagnostics-color=never", *linker, "-static",
            "{source}", "-o", f"{OUTPUT}/main",
        ),
        run_command=("/box/main",),
        memory_overhead_mb=8,
        compile_view=View(binds=(("/usr/include", "/usr/include"), (str(headers), "/sandbox/pch"))),
        run_view=runtime_view(state, "cpp", *conversions),
        bounded_address_space=True,
        out_of_memory="std::bad_alloc",
    )  # fmt: skip


def java(state: Path) -> Toolchain:
    """Java. The compiler starts from an archive of its own classes, at a third of its usual cost."""
    home = _find("javac", "default-jdk-headless").parent.parent
    jvm = (f"{home}/bin/java", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto")
    javac = ("-XX:TieredStopAtLevel=1", "-Xmx768m", "-Xss16m", "-m", "jdk.compiler/com.sun.tools.javac.Main")
    options = ("-proc:none", "-nowarn", "-XDuseUnsharedTable", "-encoding", "UTF-8", "-Xmaxerrs", "20")
    version = _output(f"{home}/bin/java", "-version").splitlines()[0]

    def archive(folder: Path) -> None:
        (folder / "Canary.java").write_text(CANARIES["java"])
        _output(
            *jvm, f"-XX:ArchiveClassesAtExit={folder}/javac.jsa", *javac, *options, "-d", folder, folder / "Canary.java"
        )

    classes = built(state, "java", (version, *javac, *options), archive)
    configured = [path for path in Path("/etc").glob("java-*") if path.is_dir()]
    view = runtime_view(state, "java-compiler", home, *_SHELL, extra=configured)
    return Toolchain(
        name="java",
        version=version,
        compile_command=(
            *jvm, "-XX:SharedArchiveFile=/sandbox/cds/javac.jsa", "-Xlog:disable", *javac, *options,
            "-d", OUTPUT, "{source}",
        ),
        run_command=(*jvm, "-Xss64m", "-Xmx{memory_mb}m", "-cp", "/box", "{entry}"),
        memory_overhead_mb=256,
        compile_view=replace(view, binds=(*view.binds, (str(classes), "/sandbox/cds"))),
        run_view=runtime_view(state, "java", home, extra=configured),
        out_of_memory="java.lang.OutOfMemoryError",
    )  # fmt: skip


def with_java_loop(state: Path, toolchain: Toolchain) -> Toolchain:
    """Java's toolchain with native/Loop.java, which runs a program on one test after the other in one JVM."""
    assert toolchain.run_command
    source = SOURCE / "native" / "Loop.java"

    def compile_loop(folder: Path) -> None:
        javac = Path(toolchain.compile_command[0]).with_name("javac")
        _output(javac, "-encoding", "UTF-8", "-d", folder, source)

    classes = built(state, "java-loop", (toolchain.version, source.read_text()), compile_loop)
    view = toolchain.run_view
    *jvm, _, _, entry = toolchain.run_command
    return replace(
        toolchain,
        loop_command=(*jvm, "-cp", "/sandbox/loop", "Loop", "/box", entry),
        run_view=replace(view, binds=(*view.binds, (str(classes), "/sandbox/loop"))),
    )


def go(state: Path) -> Toolchain:
    """Go. Compiler and linker are called by themselves: ``go build`` spends ten times as long on looking around."""
    binary = _find("go", "golang-go")
    variables = ("GOROOT", "GOVERSION", "GOARCH", "GOTOOLDIR")
    root, version, architecture, tools = _output(binary, "env", *variables, environment={"HOME": "/tmp"}).split()

    def standard_library(folder: Path) -> None:
        """Compile it once and list where each package's result lies. Since Go 1.20 it comes as source only."""
        (folder / "importcfg").touch()
        if Path(root, "pkg", f"linux_{architecture}", "fmt.a").exists():
            return
        listing = "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}"
        environment = {
            "HOME": "/tmp", "GOCACHE": str(folder / "cache"), "GOFLAGS": "-trimpath", "CGO_ENABLED": "0",
            "GO111MODULE": "off", "GOTOOLCHAIN": "local",
        }  # fmt: skip
        lines = _output(binary, "list", "-export", "-f", listing, "std", environment=environment).splitlines()
        (folder / "pkg").mkdir()
        config = []
        for line in lines:
            package, _, file = line.partition(" ")
            if file:
                name = f"{package.replace('/', '+')}.a"
                shutil.copyfile(file, folder / "pkg" / name)
                config.append(f"packagefile {package}=pkg/{name}\n")
        (folder / "importcfg").write_text("".join(config))
        shutil.rmtree(folder / "cache")

    library = built(state, "go", (version, tools), standard_library)
    imports = "-importcfg importcfg" if (library / "importcfg").stat().st_size else ""
    script = (
        f"cd /sandbox/go && {tools}/compile -p main -complete -pack {imports} -o /tmp/main.o {SOURCES}/{{source}}"
        f" && {tools}/link -s -w {imports} -o {OUTPUT}/main /tmp/main.o"
    )
    view = runtime_view(state, "go-compiler", *_SHELL, extra=[Path(root)])
    return Toolchain(
        name="go",
        version=version,
        compile_command=("/bin/sh", "-c", script),
        run_command=("/box/main",),
        memory_overhead_mb=32,
        compile_view=replace(
            view,
            binds=(*view.binds, (str(library), "/sandbox/go")),
            environment={"GOROOT": root, "GOMAXPROCS": "2"},
        ),
        # A slot is one core: threads of the scheduler and the collector for more cores would only cost CPU time.
        run_view=runtime_view(state, "go", environment={"GOMAXPROCS": "1"}),
        out_of_memory="out of memory",
    )


def javascript(state: Path) -> Toolchain:
    """JavaScript by Node, whose check finds syntax errors as a compiler would."""
    node = _find("node", "nodejs")
    builtin = (Path("/usr/share/nodejs"),)  # where Debian keeps some of node's built-in modules
    return Toolchain(
        name="javascript",
        version=f"node {_output(node, '--version').strip()}",
        compile_command=("/bin/sh", "-c", f"{node} --check {{source}} && cp {{source}} {OUTPUT}/"),
        run_command=(str(node), "--max-old-space-size={memory_mb}", "--stack-size=50000", "/box/{entry}"),
        memory_overhead_mb=128,
        compile_view=runtime_view(state, "javascript-compiler", node, *_SHELL, extra=builtin),
        run_view=runtime_view(state, "javascript", node, extra=builtin),
        out_of_memory="heap out of memory",
    )


LANGUAGES = {"python": python, "cpp": cpp, "java": java, "go": go, "javascript": javascript}
"""Language -> a function that finds its toolchain and prepares it in the state folder, or raises
ToolchainMissingError."""
