"""The languages: a row of the table LANGUAGES for each. Whatever else must know of a language asks its row.

A row holds what is known of the language anywhere, and a function that finds its toolchain on this machine and says how
programs are compiled and run. ``python -m sandbox.languages`` lists what to install, for install.sh.

Compiling and running both happen in a sandbox; the preparations here (a precompiled header, a class-data archive, Go's
standard library) run outside once, on our own input, and are kept in the state folder under the toolchain's version.
"""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sandbox.backends import View
from sandbox.classfile import main_class
from sandbox.errors import ToolchainMissingError
from sandbox.runtime_view import runtime_view
from sandbox.source_names import java_source_name, javascript_source_name
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
    compile_view: View = field(default_factory=View)
    run_view: View = field(default_factory=View)
    loop_command: tuple[str, ...] | None = None
    """The command of a process that takes every test, as ``box.run(resident=True)`` wants it. None: there is none."""

    @property
    def language(self) -> "Language":
        """The row of the table."""
        return LANGUAGES[self.name]

    @property
    def fingerprint(self) -> str:
        """A hash of all that can change the result of a compilation, but for the source."""
        return hashlib.sha256(repr((self.version, self.compile_command)).encode()).hexdigest()


def _main_file(files: Mapping[str, bytes]) -> str:
    return next(name for name in files if name.startswith("main"))


@dataclass(frozen=True)
class Language:
    """A row of the table: what is known of a language on any machine."""

    name: str
    aliases: tuple[str, ...]
    tool: str
    """What must be installed, as it is called on the command line."""
    package: str
    """Debian's package with the tool and all that it needs."""
    toolchain: Callable[[Path], Toolchain]
    """Finds the toolchain and prepares it in the state folder, or raises ToolchainMissingError."""
    plain_compile: tuple[str, ...]
    """The command that one would type to compile the canary by hand."""
    canary: str
    """A program that adds two numbers. It proves that the language works here, at the start and whenever a sandbox is
    lost."""
    memory_overhead_mb: int
    """Memory that the runtime itself takes. It is added to the program's limit."""
    source_name: Callable[[str], str]
    """The name that the source must have for the compiler to take it."""
    out_of_memory: str = ""
    """The text that the runtime writes to stderr when it meets its own memory limit. Empty: it writes none."""
    bounded_address_space: bool = False
    """Whether a limit on the address space is a second line behind the limit on memory. A virtual machine reserves far
    more than it uses."""
    entry: Callable[[Mapping[str, bytes]], str] = _main_file
    """The compiled file to run, or Java's main class. Raises KeyError or StopIteration when there is none."""
    interpreted: bool = False
    """Whether SandboxFusion does not compile it: a syntax error is a failed run there."""
    on_request: bool = False
    """Whether it is installed only when it is asked for by name, and missed by nobody where it is not."""
    loop: Callable[[Path, Toolchain], Toolchain] | None = None
    """Adds a ``loop_command`` to the toolchain, for --java-loop."""


def filled_in(command: tuple[str, ...] | None, entry: str, memory_mb: int) -> list[str] | None:
    """The argument vector of a Toolchain's ``run_command`` or ``loop_command``; None where that is None."""
    return None if command is None else [part.format(memory_mb=memory_mb, entry=entry) for part in command]


CANARY_INPUT, CANARY_OUTPUT = "40 2\n", "42"
"""What every language's canary program reads, and the sum that it prints."""


def language_of(name: str) -> str | None:
    """The canonical name of the language with this name or alias, in upper or lower case. None when there is none."""
    name = name.lower()
    return next((row.name for row in LANGUAGES.values() if name == row.name or name in row.aliases), None)


def _find(language: str) -> Path:
    row = LANGUAGES[language]
    path = shutil.which(row.tool, path="/usr/bin:/usr/local/bin:/usr/local/go/bin:/bin")
    if path is None:
        raise ToolchainMissingError(f"{row.tool} is not installed: apt-get install {row.package}")
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
    _find("python")
    folders = "import sysconfig; print(*dict.fromkeys(map(sysconfig.get_path, ('stdlib', 'platstdlib'))), sep='\\n')"
    library = _output("/usr/bin/python3", "-I", "-S", "-c", folders).splitlines()
    own = ("/usr/bin/python3", *library)
    compiler = (
        "import marshal, sys, traceback\n"
        "try:\n"
        "    source = open('main.py', 'rb').read()\n"
        "    code = compile(source, '/box/main.py', 'exec', dont_inherit=True)\n"
        "except BaseException as error:\n"
        "    sys.exit(''.join(traceback.format_exception_only(error))[:20000])\n"
        f"marshal.dump(code, open('{OUTPUT}/main.bin', 'wb'))\n"
        f"open('{OUTPUT}/main.py', 'wb').write(source)\n"  # for tracebacks
    )
    return Toolchain(
        name="python",
        version=_output("/usr/bin/python3", "--version").strip(),
        compile_command=("/usr/bin/python3", "-I", "-S", "-c", compiler),
        run_command=None,
        compile_view=runtime_view(state, "python-compiler", own[0], *_SHELL, extra=map(Path, library)),
        run_view=runtime_view(
            state,
            "python",
            *own,
            "/usr/lib/python3",  # the packages that Debian's own packages bring
            environment={"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
        ),
    )


_ONLINE_JUDGE = "-DONLINE_JUDGE"
"""What Codeforces and AtCoder define for C and C++ and set as a system property for Java. Programs that were written
for them may read a file in place of stdin where it is missing."""

_GCC_OPTIONS = ("-w", "-fmax-errors=20", "-fdiagnostics-color=never")


def _linker() -> tuple[str, ...]:
    """The option for the faster linker, where it is installed."""
    return ("-fuse-ld=gold",) if shutil.which("ld.gold", path="/usr/bin") else ()


def _static_view(state: Path, name: str) -> View:
    """What a program sees that is linked statically with the C library: of that, iconv's tables."""
    return runtime_view(state, name, *Path("/usr").glob("lib*/gconv"), *Path("/usr/lib").glob("*/gconv"))


def cpp(state: Path) -> Toolchain:
    """C++ by g++. Programs are linked statically, because starting them costs half as much."""
    compiler = str(_find("cpp"))
    flags = ("-std=gnu++20", "-O2", "-w", _ONLINE_JUDGE)
    version = _output(compiler, "--version").splitlines()[0]

    def precompile(folder: Path) -> None:
        (folder / "bits").mkdir()
        (folder / "source.h").write_text("#include <bits/stdc++.h>\n")
        preprocessed = _output(compiler, *flags, "-E", "-H", folder / "source.h", "-o", "/dev/null")
        header = next(line.split(" ", 1)[1] for line in preprocessed.splitlines() if line.endswith("bits/stdc++.h"))
        _output(compiler, *flags, "-x", "c++-header", header, "-o", folder / "bits/stdc++.h.gch")

    headers = built(state, "cpp", (version, *flags), precompile)
    return Toolchain(
        name="cpp",
        version=version,
        compile_command=(
            compiler, *flags, "-I/sandbox/pch", *_GCC_OPTIONS, *_linker(), "-static",
            "{source}", "-o", f"{OUTPUT}/main",
        ),
        run_command=("/box/main",),
        compile_view=View(binds=(("/usr/include", "/usr/include"), (str(headers), "/sandbox/pch"))),
        run_view=_static_view(state, "cpp"),
    )  # fmt: skip


def c(state: Path) -> Toolchain:
    """C by gcc, linked as C++ is."""
    compiler = str(_find("c"))
    command = (compiler, "-std=gnu17", "-O2", _ONLINE_JUDGE, *_GCC_OPTIONS, *_linker(), "-static", "{source}", "-lm")
    return Toolchain(
        name="c",
        version=_output(compiler, "--version").splitlines()[0],
        compile_command=(*command, "-o", f"{OUTPUT}/main"),
        run_command=("/box/main",),
        compile_view=View(binds=(("/usr/include", "/usr/include"),)),
        run_view=_static_view(state, "c"),
    )


def rust(state: Path) -> Toolchain:
    """Rust by rustc alone, one file and the standard library, linked as C++ is."""
    compiler = str(_find("rust"))
    linker = shutil.which("gcc", path="/usr/bin")
    if linker is None:
        raise ToolchainMissingError("gcc is not installed, which links Rust's programs: apt-get install gcc libc6-dev")
    options = (
        "--edition=2021",
        "-O",
        "-Awarnings",
        "--color=never",
        "--crate-name=main",
        "-Ctarget-feature=+crt-static",
        "-Crelocation-model=static",
        "-Ccodegen-units=1",  # more are for more cores than a slot has
    )
    link = (f"-Clinker={Path(linker).resolve()}", *(f"-Clink-arg={option}" for option in _linker()))
    return Toolchain(
        name="rust",
        version=_output(compiler, "--version").strip(),
        compile_command=(compiler, *options, *link, "{source}", "-o", f"{OUTPUT}/main"),
        run_command=("/box/main",),
        run_view=_static_view(state, "rust"),
    )


def java(state: Path) -> Toolchain:
    """Java. The compiler starts from an archive of its own classes, at a third of its usual cost."""
    home = _find("java").parent.parent
    jvm = (f"{home}/bin/java", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto")
    javac = ("-XX:TieredStopAtLevel=1", "-Xmx768m", "-Xss16m", "-m", "jdk.compiler/com.sun.tools.javac.Main")
    options = ("-proc:none", "-nowarn", "-XDuseUnsharedTable", "-encoding", "UTF-8", "-Xmaxerrs", "20")
    # One large array must fit into the old generation, which is two thirds of the heap unless more is asked for.
    heap = ("-XX:NewRatio=5", "-Xss64m", "-Xmx{memory_mb}m")
    version = _output(f"{home}/bin/java", "-version").splitlines()[0]

    def archive(folder: Path) -> None:
        (folder / "Canary.java").write_text(LANGUAGES["java"].canary)
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
        run_command=(*jvm, *heap, f"{_ONLINE_JUDGE}=true", "-cp", "/box", "{entry}"),
        compile_view=replace(view, binds=(*view.binds, (str(classes), "/sandbox/cds"))),
        run_view=runtime_view(state, "java", home, extra=configured),
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
    binary = _find("go")
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
        compile_view=replace(
            view,
            binds=(*view.binds, (str(library), "/sandbox/go")),
            environment={"GOROOT": root, "GOMAXPROCS": "2"},
        ),
        # A slot is one core: threads of the scheduler and the collector for more cores would only cost CPU time.
        run_view=runtime_view(state, "go", environment={"GOMAXPROCS": "1"}),
    )


_NODE_PRELOAD = "for (const stream of [process.stdout, process.stderr]) stream._handle?.setBlocking?.(true)\n"
"""What Node runs before a program. It writes to a pipe without waiting for who reads it, so that a program that exits
loses what the pipe has not taken yet: 64 KiB of it get through."""


def javascript(state: Path) -> Toolchain:
    """JavaScript by Node, whose check finds syntax errors as a compiler would."""
    node = _find("javascript")
    builtin = (Path("/usr/share/nodejs"),)  # where Debian keeps some of node's built-in modules

    def preload(folder: Path) -> None:
        file = folder / "preload.js"
        file.write_text(_NODE_PRELOAD)
        file.chmod(0o444)

    preloaded = built(state, "javascript", (_NODE_PRELOAD,), preload)
    view = runtime_view(state, "javascript", node, extra=builtin)
    return Toolchain(
        name="javascript",
        version=f"node {_output(node, '--version').strip()}",
        compile_command=("/bin/sh", "-c", f"{node} --check {{source}} && cp {{source}} {OUTPUT}/"),
        run_command=(
            str(node), "--max-old-space-size={memory_mb}", "--stack-size=50000",
            "--require", "/sandbox/node/preload.js", "/box/{entry}",
        ),
        compile_view=runtime_view(state, "javascript-compiler", node, *_SHELL, extra=builtin),
        run_view=replace(view, binds=(*view.binds, (str(preloaded), "/sandbox/node"))),
    )  # fmt: skip


_ROWS = (
    Language(
        name="python",
        aliases=("py", "python3"),
        tool="/usr/bin/python3",  # one in a home folder or an environment is out of a jailed user's reach
        package="python3",
        toolchain=python,
        source_name=lambda code: "main.py",
        plain_compile=("/usr/bin/python3", "-m", "py_compile", "main.py"),
        canary="print(sum(map(int, input().split())))",
        memory_overhead_mb=48,
        bounded_address_space=True,
        out_of_memory="MemoryError",
        interpreted=True,
    ),
    Language(
        name="cpp",
        aliases=("c++", "cc", "cxx"),
        tool="g++",
        package="g++",
        toolchain=cpp,
        source_name=lambda code: "main.cpp",
        plain_compile=("g++", "-std=gnu++20", "-O2", "main.cpp", "-o", "main"),
        canary="#include <bits/stdc++.h>\nint main() { long long a, b; std::cin >> a >> b;\n"
        "std::cout << a + b << std::endl; }",
        memory_overhead_mb=8,
        bounded_address_space=True,
        out_of_memory="std::bad_alloc",
    ),
    Language(
        name="c",
        aliases=(),
        tool="gcc",
        package="gcc",
        toolchain=c,
        source_name=lambda code: "main.c",
        plain_compile=("gcc", "-std=gnu17", "-O2", "main.c", "-lm", "-o", "main"),
        canary="#include <stdio.h>\n#include <math.h>\n#include <stdlib.h>\n"
        'int main(void) { long class, *new = malloc(8); if (scanf("%ld %ld", &class, new) != 2) return 1;\n'
        'printf("%ld\\n", class + *new + (long) sqrt(0.0 * class)); }',
        memory_overhead_mb=8,
        bounded_address_space=True,
    ),
    Language(
        name="java",
        aliases=(),
        tool="javac",
        package="default-jdk-headless",
        toolchain=java,
        source_name=java_source_name,
        entry=main_class,
        plain_compile=("javac", "Canary.java"),
        canary="import java.util.*;\npublic class Canary { public static void main(String[] args) {\n"
        "Scanner in = new Scanner(System.in); System.out.println(in.nextLong() + in.nextLong()); } }",
        memory_overhead_mb=256,
        out_of_memory="java.lang.OutOfMemoryError",
        loop=with_java_loop,
    ),
    Language(
        name="go",
        aliases=("golang",),
        tool="go",
        package="golang-go",
        toolchain=go,
        source_name=lambda code: "main.go",
        plain_compile=("go", "build", "-o", "main", "main.go"),
        canary='package main\nimport ("bufio"; "fmt"; "os"; "sort"; "strings"; "strconv"; "math")\nfunc main() {\n'
        "var a, b int; fmt.Fscan(bufio.NewReader(os.Stdin), &a, &b); sort.Ints([]int{b, a})\n"
        "fmt.Println(strings.TrimSpace(strconv.Itoa(a + b + int(math.Sqrt(0))))) }",
        memory_overhead_mb=32,
        out_of_memory="out of memory",
    ),
    Language(
        name="javascript",
        aliases=("js", "node", "nodejs"),
        tool="node",
        package="nodejs",
        toolchain=javascript,
        source_name=javascript_source_name,
        plain_compile=("node", "--check", "main.js"),
        canary="const [a, b] = require('fs').readFileSync('/dev/stdin', 'utf8').split(' ').map(Number)\n"
        "console.log(a + b)",
        memory_overhead_mb=128,
        out_of_memory="heap out of memory",
        interpreted=True,
    ),
    Language(
        name="rust",
        aliases=("rs",),
        tool="rustc",
        package="rustc",
        toolchain=rust,
        source_name=lambda code: "main.rs",
        plain_compile=("rustc", "--edition=2021", "-O", "main.rs"),
        canary="use std::collections::HashMap;\nfn main() {\n"
        "let mut line = String::new(); std::io::stdin().read_line(&mut line).unwrap();\n"
        "let all: HashMap<usize, i64> = line.split_whitespace().map(|n| n.parse().unwrap()).enumerate().collect();\n"
        'println!("{}", all.values().sum::<i64>()); }',
        memory_overhead_mb=8,
        bounded_address_space=True,
        out_of_memory="memory allocation of ",
        on_request=True,
    ),
)

LANGUAGES = {row.name: row for row in _ROWS}


if __name__ == "__main__":
    for row in _ROWS:
        print(row.name, row.tool, row.package, "on-request" if row.on_request else "usual")
