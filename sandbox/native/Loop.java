import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TimeZone;

/**
 * Runs one compiled program on test after test in one JVM: {@code java Loop FOLDER MAIN_CLASS}.
 *
 * <p>Each test is a number on file descriptor 3. It is given back on 4 when main and every thread that keeps a JVM alive
 * have ended, and nothing is left that a fresh JVM would not have; else 0 is. Streams 0, 1 and 2 are the test's own: the
 * runner puts a new input behind 0 and reads 1 and 2, so a program may use them in any way that Java knows.
 *
 * <p>The program shares this JVM, and one that sets out to can do to it what it likes. It gains little: the host takes no
 * verdict but AC from here, and only for the right output; behind anything else it goes on with a JVM a test. Such a
 * program can keep what it computed for later tests, in some corner of the JDK, and hide what it does after its answer.
 * An honest one gains a warm JVM: less CPU time, and compiled code's smaller stack frames.
 */
final class Loop {
  private static final int GO = 3, DONE = 4;
  private static volatile boolean hasHooks; // hooks run when a JVM ends, and this one does not end
  private static final InputStream IN = new Input();
  private static final OutputStream OUT = new Output(FileDescriptor.out), ERR = new Output(FileDescriptor.err);

  public static void main(String[] arguments) throws IOException {
    Path folder = Path.of(arguments[0]);
    System.setProperty("java.class.path", folder.toString());
    Map<String, byte[]> classFiles = new HashMap<>();
    TimeZone.getDefault(); // sets a property when it is first asked for
    try (FileInputStream go = new FileInputStream("/proc/self/fd/" + GO);
        FileOutputStream done = new FileOutputStream("/proc/self/fd/" + DONE)) {
      Set<Thread> ours = new HashSet<>(threads());
      List<Object> settings = settings();
      byte[] number = new byte[8]; // no field holds it, where the program could find it
      while (go.readNBytes(number, 0, number.length) == number.length) {
        boolean usual = runMain(new Program(folder, classFiles), arguments[1]) && endThreads(ours) && !hasHooks;
        done.write(usual && settings.equals(settings()) ? number : new byte[number.length]);
      }
    }
  }

  /** The program's classes, fresh for every test, so that their static fields are. */
  private static final class Program extends ClassLoader {
    static {
      registerAsParallelCapable(); // as the JVM's own loader is
    }

    private final Path folder;
    private final Map<String, byte[]> classFiles;

    Program(Path folder, Map<String, byte[]> classFiles) {
      super(ClassLoader.getPlatformClassLoader());
      this.folder = folder;
      this.classFiles = classFiles;
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      byte[] content;
      synchronized (classFiles) {
        content = classFiles.computeIfAbsent(name, this::read);
      }
      if (content == null) throw new ClassNotFoundException(name);
      return defineClass(name, content, 0, content.length);
    }

    private byte[] read(String name) {
      try {
        byte[] content = Files.readAllBytes(folder.resolve(name.replace('.', '/') + ".class"));
        hasHooks |= new String(content, StandardCharsets.ISO_8859_1).contains("addShutdownHook");
        return content;
      } catch (IOException missing) {
        return null;
      }
    }
  }

  /** Calls main as the launcher does, on a thread of its own with the stack that -Xss gives. Whether it returned. */
  private static boolean runMain(Program program, String mainClass) {
    boolean[] returned = {false};
    System.setIn(new BufferedInputStream(IN));
    System.setOut(printing(OUT, "stdout.encoding"));
    System.setErr(printing(ERR, "stderr.encoding"));
    Thread thread = new Thread("main") {
      @Override
      public void run() {
        try {
          Method main = Class.forName(mainClass, false, program).getMethod("main", String[].class);
          main.setAccessible(true);
          main.invoke(null, (Object) new String[0]);
          returned[0] = true;
        } catch (Throwable unusual) {
          // The JVM that is started for this test alone will say what happened.
        }
      }
    };
    thread.setContextClassLoader(program);
    thread.start();
    return ended(thread) && returned[0];
  }

  /** Waits for the threads that a JVM waits for. False when any thread is left that is not ours. */
  private static boolean endThreads(Set<Thread> ours) {
    for (; ; ) {
      List<Thread> left = threads();
      left.removeAll(ours);
      Thread waitedFor = null;
      for (Thread thread : left) if (!thread.isDaemon()) waitedFor = thread;
      if (waitedFor == null) return left.isEmpty();
      if (!ended(waitedFor)) return false;
    }
  }

  private static boolean ended(Thread thread) {
    try {
      thread.join();
      return true;
    } catch (InterruptedException byTheProgram) {
      return false;
    }
  }

  private static List<Thread> threads() {
    ThreadGroup all = Thread.currentThread().getThreadGroup();
    while (all.getParent() != null) all = all.getParent();
    Thread[] found = new Thread[1024]; // more than the sandbox allows
    return new ArrayList<>(Arrays.asList(found).subList(0, all.enumerate(found)));
  }

  /** What a program can change for those that come after it, as far as it is in common use. */
  private static List<Object> settings() {
    return Arrays.asList(
        System.getProperties().clone(),
        Locale.getDefault(),
        Locale.getDefault(Locale.Category.DISPLAY),
        Locale.getDefault(Locale.Category.FORMAT),
        TimeZone.getDefault(),
        Thread.getDefaultUncaughtExceptionHandler(),
        FileDescriptor.in.valid(),
        FileDescriptor.out.valid(),
        FileDescriptor.err.valid());
  }

  /** A standard stream that stays open for the next test when the program closes it, as many do. */
  private static final class Input extends FileInputStream {
    Input() {
      super(FileDescriptor.in);
    }

    @Override
    public void close() {}
  }

  /** An output stream that stays open in the same way. */
  private static final class Output extends FileOutputStream {
    Output(FileDescriptor descriptor) {
      super(descriptor);
    }

    @Override
    public void close() {}
  }

  /** A stream like the one that a JVM makes for System.out. */
  private static PrintStream printing(OutputStream file, String encodingProperty) {
    String encoding = System.getProperty(encodingProperty, System.getProperty("sun." + encodingProperty));
    BufferedOutputStream buffered = new BufferedOutputStream(file, 128);
    return encoding == null
        ? new PrintStream(buffered, true)
        : new PrintStream(buffered, true, Charset.forName(encoding));
  }
}
