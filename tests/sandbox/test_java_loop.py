"""The in-JVM loop gives the verdicts of a JVM a test, whatever the program does, and saves what it is there to save."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

import httpx
import psutil
import pytest

from sandbox.bench import running_service

pytestmark = pytest.mark.sandbox

FEW = 4
MANY = 8
LIMIT_S = 2.0


class Services(NamedTuple):
    """Two services that differ in the loop only: the address of each and its front process."""

    plain: tuple[str, psutil.Process]
    loop: tuple[str, psutil.Process]


@pytest.fixture(scope="module")
def services() -> Iterator[Services]:
    """Both services, running. Neither holds a JVM when the tests are done."""
    with ExitStack() as stack:
        both = Services(stack.enter_context(running_service(2)), stack.enter_context(running_service(2, "--java-loop")))
        yield both
        deadline = time.monotonic() + 60
        while True:
            is_last = time.monotonic() > deadline  # before the look
            with suppress(psutil.NoSuchProcess):
                left = [child.name() for _, service in both for child in service.children(recursive=True)]
                if is_last or "java" not in left:
                    break
            time.sleep(0.1)
        assert "java" not in left


def judge(service: tuple[str, psutil.Process], code: str, count: int, **fields: Any) -> dict[str, Any]:
    """Tests that add 2 to 0, 1, 2, ..."""
    tests = [{"input": f"{n} 2\n", "output": f"{n + 2}\n"} for n in range(count)]
    request = {"language": "java", "code": code, "tests": tests, "time_limit_s": LIMIT_S, **fields}
    answer: dict[str, Any] = httpx.post(f"{service[0]}/judge", json=request, timeout=300).raise_for_status().json()
    return answer


def program(body: str, members: str = "") -> str:
    """A Main with this main method. Its ``read()`` gives the sum that is asked for."""
    return f"""import java.io.*; import java.nio.file.*; import java.util.*; import java.util.concurrent.*;
    import java.util.stream.*;
    public class Main {{
      static long read() {{ Scanner in = new Scanner(System.in); return in.nextLong() + in.nextLong(); }}
      {members}
      public static void main(String[] arguments) throws Exception {{ {body} }}
    }}"""


SHAPES = {
    "scanner": program("System.out.println(read());"),
    "closing": program(
        "try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in));\n"
        "PrintWriter out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out)))) {\n"
        "StringTokenizer t = new StringTokenizer(in.readLine());\n"
        "out.println(Long.parseLong(t.nextToken()) + Long.parseLong(t.nextToken())); }"
    ),
    "stdin_on_a_judge_only": program(
        'System.setIn(System.getProperty("ONLINE_JUDGE") == null ? new FileInputStream("input.txt") : System.in);\n'
        "System.out.println(read());"
    ),
    "byte_by_byte": program(
        "System.out.println(next() + next());",
        "static int next() throws IOException { int n = 0, c; while ((c = System.in.read()) > ' ')\n"
        "n = 10 * n + c - '0'; return n; }",
    ),
    "data_input_stream": program(
        "DataInputStream in = new DataInputStream(System.in); byte[] b = new byte[in.available()]; in.readFully(b);\n"
        'System.out.println(Stream.of(new String(b).trim().split(" ")).mapToInt(Integer::parseInt).sum()); in.close();'
    ),
    "file_descriptors": program(
        "Scanner in = new Scanner(new FileInputStream(FileDescriptor.in));\n"
        'new FileOutputStream(FileDescriptor.out).write((in.nextInt() + in.nextInt() + "\\n").getBytes());'
    ),
    "dev_stdin": program(
        'Scanner in = new Scanner(new File("/dev/stdin")); System.out.println(in.nextInt() + in.nextInt());'
    ),
    "file_channels": program(
        'String[] words = new String(Files.readAllBytes(Path.of("/dev/stdin"))).trim().split(" ");\n'
        "System.out.println(Integer.parseInt(words[0]) + Integer.parseInt(words[1]));"
    ),
    "large_stack_thread_without_join": program(
        'new Thread(null, () -> { if (depth(1000000) > 0) System.out.println(read()); }, "", 1L << 28).start();',
        "static int depth(int n) { return n == 0 ? 1 : depth(n - 1); }",
    ),
    "deep_recursion_in_main": program(
        "System.out.println(depth(200000) * read());",
        "static int depth(int n) { return n == 0 ? 1 : depth(n - 1); }",
    ),
    "fresh_statics": program(
        "System.out.println(++count == 1 && seen.add(1) ? read() : -1);",
        "static int count; static final Set<Integer> seen = new HashSet<>();",
    ),
    "static_initialiser_reads": program(
        "System.out.println(a + b);",
        "static final int a, b; static { Scanner in = new Scanner(System.in); a = in.nextInt(); b = in.nextInt(); }",
    ),
    "executor_that_is_shut_down": program(
        "ExecutorService pool = Executors.newFixedThreadPool(2); Future<Long> f = pool.submit(() -> read());\n"
        "System.out.println(f.get()); pool.shutdown();"
    ),
    "own_streams": program(
        'System.setIn(new ByteArrayInputStream((read() + "").getBytes()));\n'
        "System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.out), true));\n"
        "System.out.println(new Scanner(System.in).nextInt());"
    ),
    "lambdas_records_and_formats": program(
        "record P(long x) {} var p = Stream.of(new P(read()));\n"
        'System.out.printf("%d%n", p.map(P::x).findFirst().get());'
    ),
}
"""Right programs of many kinds. Each is accepted, and in the loop."""


@pytest.mark.parametrize("shape", SHAPES)
def test_a_right_program_takes_less_than_half_of_the_cpu_time_in_the_loop(services: Services, shape: str) -> None:
    plain, loop = (judge(service, SHAPES[shape], MANY) for service in services)
    assert (plain["verdict"], loop["verdict"], loop["passed"]) == ("AC", "AC", MANY), (plain, loop)
    used, saved = (sum(test["cpu_s"] for test in answer["tests"]) for answer in (loop, plain))
    assert 2 * used < saved
    for test in loop["tests"]:
        assert test["exit_code"] == 0
        assert test["cpu_s"] > 0
        assert test["wall_s"] > 0
        assert test["rss_kb"] > 10_000


THIRD = "long sum = read(); if (sum == 4) {} System.out.println(sum);"
"""Right programs that do what stands in the braces in the third test only."""


def third(what: str) -> str:
    """A right program but for the third test."""
    return program(THIRD.replace("{}", f"{{ {what} }}"))


ALL, NONE, OFTEN = "AC " * FEW, "{} " * FEW, "AC AC {} AC"
UNUSUAL = {
    "exit_0": (program("System.out.println(read()); System.exit(0);"), ALL),
    "exit_0_before_the_answer": (third("System.exit(0);"), OFTEN.format("WA")),
    "exit_1": (third("System.out.println(sum); System.exit(1);"), OFTEN.format("RE")),
    "halt": (program("System.out.println(read()); System.out.flush(); Runtime.getRuntime().halt(0);"), ALL),
    "exception": (third("throw new IllegalStateException();"), OFTEN.format("RE")),
    "exception_after_the_answer": (program("System.out.println(read()); throw new Error();"), NONE.format(*["RE"] * 4)),
    "exception_in_another_thread": (
        program("new Thread(() -> { System.out.println(read()); throw new Error(); }).start();"),
        ALL,
    ),
    "exception_in_a_static_initialiser": (
        program("", "static int x = 1 / (int) (read() - 4);"),
        "WA WA RE WA",
    ),
    "wrong": (program("System.out.println(read() + 1);"), "WA " * FEW),
    "wrong_in_the_third": (third("sum++;"), OFTEN.format("WA")),
    "right_by_a_counter_only": (
        program("System.out.println(read() + count++);", "static int count;"),
        ALL,
    ),
    "infinite_loop": (third("for (;;) ;"), OFTEN.format("TLE")),
    "infinite_loop_after_the_answer": (third("System.out.println(4); for (;;) ;"), OFTEN.format("TLE")),
    "sleep": (third("Thread.sleep(60000);"), OFTEN.format("TLE")),
    "thread_that_never_ends": (
        third("new Thread(() -> { try { Thread.sleep(60000); } catch (Exception e) {} }).start();"),
        OFTEN.format("TLE"),
    ),
    "daemon_thread": (
        program(
            "Thread t = new Thread(() -> { for (;;) read = 1; }); t.setDaemon(true); t.start();\n"
            "System.out.println(read());",
            "static volatile int read;",
        ),
        ALL,
    ),
    "daemon_thread_that_prints": (
        program(
            "Thread t = new Thread(() -> { try { Thread.sleep(60000); } catch (InterruptedException e) {}\n"
            "System.out.print(7); }); t.setDaemon(true); t.start();\n"
            "System.out.println(read());"
        ),
        ALL,
    ),
    "common_pool": (program("System.out.println(CompletableFuture.supplyAsync(() -> read()).get());"), ALL),
    "parallel_stream": (
        program("System.out.println(read() + IntStream.range(0, 10000).parallel().map(x -> x % 2).sum() - 5000);"),
        ALL,
    ),
    "timer": (
        program(
            "new Timer().schedule(new TimerTask() { public void run() {\n"
            "System.out.println(read()); System.exit(0); } }, 1);"
        ),
        ALL,
    ),
    "print_writer_without_flush": (program("new PrintWriter(System.out).println(read());"), "WA " * FEW),
    "set_out_without_flush": (
        program(
            "System.setOut(new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out))));\n"
            "System.out.println(read());"
        ),
        "WA " * FEW,
    ),
    "write_without_flush": (program("System.out.write((int) ('0' + read()));"), "WA " * FEW),
    "standard_output_closed_for_good": (
        program('try (var out = new FileOutputStream(FileDescriptor.out)) { out.write((read() + "").getBytes()); }'),
        ALL,
    ),
    "standard_input_closed_for_good": (
        program("try (var in = new FileInputStream(FileDescriptor.in)) { System.out.println(read()); }"),
        ALL,
    ),
    "answer_from_a_shutdown_hook": (
        program("Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println(read())));"),
        ALL,
    ),
    "nonsense_from_a_shutdown_hook": (
        program(
            "Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println(7)));\n"
            "System.out.println(read());"
        ),
        "WA " * FEW,
    ),
    "output_flood": (third('String s = "x".repeat(1 << 20); for (;;) System.out.println(s);'), OFTEN.format("OLE")),
    "error_flood": (third('String s = "x".repeat(1 << 20); for (;;) System.err.println(s);'), OFTEN.format("OLE")),
    "a_word_on_standard_error": (program('System.err.println("debug"); System.out.println(read());'), ALL),
    "memory_hog": (
        third("List<byte[]> kept = new ArrayList<>(); for (;;) kept.add(new byte[1 << 20]);"),
        OFTEN.format("MLE"),
    ),
    "memory_hog_that_recovers": (
        third(
            "try { List<byte[]> kept = new ArrayList<>(); for (;;) kept.add(new byte[1 << 20]); }\n"
            "catch (OutOfMemoryError full) {}"
        ),
        ALL,
    ),
    "memory_hog_in_every_test": (
        program(
            "byte[][] kept = new byte[160][]; for (int i = 0; i < 160; i++) kept[i] = new byte[1 << 20];\n"
            "System.out.println(read() + kept[159][0]);"
        ),
        ALL,
    ),
    "infinite_recursion": (
        program(
            "long sum = read(); System.out.println(sum == 4 ? depth(1) : sum);",
            "static int depth(int n) { return depth(n + 1) + 1; }",
        ),
        OFTEN.format("RE"),
    ),
    "locale": (
        program(
            'System.out.println(String.format("%.0f", 1.5).equals("2") && String.format("%.1f", 1.5).equals("1.5")\n'
            "? read() : -1); Locale.setDefault(Locale.GERMANY);"
        ),
        ALL,
    ),
    "time_zone": (
        program(
            'System.out.println(TimeZone.getDefault().getID().equals("Asia/Tokyo") ? -1 : read());\n'
            'TimeZone.setDefault(TimeZone.getTimeZone("Asia/Tokyo"));'
        ),
        ALL,
    ),
    "system_property": (
        program('System.out.println(System.getProperty("x") == null ? read() : -1); System.setProperty("x", "");'),
        ALL,
    ),
    "uncaught_exception_handler": (
        program(
            "System.out.println(Thread.getDefaultUncaughtExceptionHandler() == null ? read() : -1);\n"
            "Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {});"
        ),
        ALL,
    ),
    "process": (
        program(
            'try { new ProcessBuilder("/bin/true").start(); } catch (IOException refused) {}\n'
            "System.out.println(read());"
        ),
        ALL,
    ),
    "files_left_behind": (
        program(
            'System.out.println(new File("/tmp/x").createNewFile() && new File("/dev/shm/x").createNewFile()\n'
            "? read() : -1);"
        ),
        ALL,
    ),
    "forged_result": (
        program(
            "OutputStream out = new FileOutputStream(FileDescriptor.out); out.write(new byte[64]);\n"
            'out.write("yyyyyyyyAC".getBytes()); System.out.println(read());'
        ),
        "WA " * FEW,
    ),
    "forged_end": (
        third(
            'try (var done = new FileOutputStream("/proc/self/fd/4")) { done.write(new byte[8]); }\n'
            "catch (IOException none) {} System.out.println(sum); for (;;) ;"
        ),
        OFTEN.format("TLE"),
    ),
    "stolen_starts": (
        program(
            'System.out.println(read()); try (var go = new FileInputStream("/proc/self/fd/3")) { go.read(); }\n'
            "catch (IOException none) {}"
        ),
        ALL,
    ),
    "every_thread_interrupted": (
        program(
            "System.out.println(read()); ThreadGroup all = Thread.currentThread().getThreadGroup();\n"
            "while (all.getParent() != null) all = all.getParent(); all.interrupt();"
        ),
        ALL,
    ),
    "kill": (third('new ProcessBuilder("/bin/sh", "-c", "kill -9 -1").start().waitFor();'), OFTEN.format("RE")),
}
"""Programs whose end a loop could easily mistake, and the verdicts of a JVM a test."""


STOPPING = (
    "exit_0",
    "wrong_in_the_third",
    "exception",
    "infinite_loop",
    "memory_hog",
    "forged_end",
)
"""Programs that are judged up to the first failure as well. For the others the whole way shows as much."""


@pytest.mark.parametrize(
    ("name", "stop"),
    [*((name, False) for name in UNUSUAL), *((name, True) for name in STOPPING)],
    ids=[*UNUSUAL, *(f"{name}-stopping" for name in STOPPING)],
)
def test_the_loop_changes_no_verdict(services: Services, name: str, stop: bool) -> None:
    code, expected = UNUSUAL[name]
    with ThreadPoolExecutor() as pool:
        answers = [pool.submit(judge, service, code, FEW, stop_on_first_failure=stop) for service in services]
        plain, loop = (answer.result() for answer in answers)
    verdicts, looped = ([test["verdict"] for test in answer["tests"]] for answer in (plain, loop))
    ran = next((i + 1 for i, v in enumerate(expected.split()) if stop and v != "AC"), FEW)
    assert verdicts == expected.split()[:ran], plain
    assert looped == verdicts, loop
    for field in ("verdict", "passed", "total", "first_failed"):
        assert loop[field] == plain[field]


def test_health_says_whether_the_loop_is_on(services: Services) -> None:
    assert [httpx.get(f"{url}/health", timeout=300).json()["java_loop"] for url, _ in services] == [False, True]
