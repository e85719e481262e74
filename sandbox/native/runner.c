/* The runner: process 1 of a sandbox. It takes requests from the host over a socket and, for each test, starts the
 * program, feeds it, watches it and reports what it did. It never sees an expected output.
 *
 * Built twice from this file: as a static program, which execs the test program, and (-DZYGOTE) as a library that
 * zygote.py loads, where serve() returns in a forked child with the standard streams in place and Python goes on.
 *
 * What holds here:
 *  - the socket is unreachable to the program (close-on-exec, and this process is not dumpable), so a result cannot be
 *    forged; a program that closes, floods or hangs its streams meets a limit below;
 *  - process 1 of a PID namespace cannot be signalled from inside it, and kill(-1) from it is atomic against fork;
 *  - a program is the only one that is ever started for its test: seal() refuses every later execve, and counts it;
 *  - after each test every process is dead and reaped, and every writable file is gone before the next, be it of the same
 *    program or of another; the one exception is a process that was started to stay for all tests of its program
 *    (run_resident), from which nothing but the right output is ever accepted;
 *  - what a program reads and prints does not stay here: a test's input is a file of the host's, sealed against writing,
 *    and output goes to the host as it comes, so that neither counts as the program's memory;
 *  - a program that is forked from here finds nothing of the ones before in its copy of our memory: the buffers and the
 *    stack are not copied, and once programs come nothing is allocated, by no function of the C library either.
 * Requests and replies are structs in host byte order: both ends are on one machine. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { RUN = 1, PUT = 2, GET = 3, PROGRAM = 4, CLEAR = 5 };
enum { WIPE = 1, RESIDENT = 2, ONE_FILE = 4 };           /* request flags */
enum { WALL = 1, CPU = 2, OUTPUT = 4, MEMORY = 8, FILES = 16, FAILED = 32, STARVED = 64, MORE = 128 }; /* reply flags */

#define STDERR_KEPT (64u << 10)
#define MAX_INODES 65536u
#define MAX_SOCKETS 256
#define MAX_FETCHED 4096
#define PATH_ROOM 4096
#define GATHER_US 4000
#define MEMORY_LOOK_US 5000
#define CHUNK (64u << 10)
#define BUFFER (256u << 10)
#define HELD_BACK (1u << 20)
#define COUNTER_SLACK_US 20000

struct request {
  uint32_t op, flags, path_len, data_len;
  uint32_t cpu_ms, wall_ms, patience_ms; /* wall_ms is for sleep; waiting for a core counts in patience_ms only */
  uint32_t output_max, address_space_mb;
  uint32_t rss_max_kb, tick_ms; /* rss_max_kb is 0 where a memory cgroup holds the limit */
};
struct reply {
  int32_t status; /* the status that wait(2) gives */
  uint32_t flags, rss_kb, out_len, err_len;
  uint32_t exec_attempts; /* how often the program tried to start another and was seen to */
  uint64_t cpu_us, wall_us;
};

static int ctl, proc_fd, unix_fd, oom_fd, cpu_fd, abandon_fd;
static uint64_t oom_kills;
static int attempts_fd = -1; /* where the kernel tells of a refused execve; -1 where it cannot */
#ifndef ZYGOTE
static char *program[256];
static uint64_t password[2]; /* of the one execve that seal() lets through */
#endif
static const char *const writable[] = {"/tmp", "/dev/shm"};

static uint64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

/* `fd` becomes the descriptor that comes with these bytes, if one does. */
static int receive(void *buffer, size_t n, int *fd) {
  for (char *p = buffer; n;) {
    union {
      struct cmsghdr head;
      char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec into = {p, n};
    struct msghdr message = {.msg_iov = &into, .msg_iovlen = 1};
    if (fd) message.msg_control = &control, message.msg_controllen = sizeof control;
    ssize_t k = recvmsg(ctl, &message, MSG_CMSG_CLOEXEC);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return -1;
    if (fd && message.msg_controllen) memcpy(fd, CMSG_DATA(&control.head), sizeof *fd);
    p += k, n -= (size_t)k;
  }
  return 0;
}

static int readable(int fd) {
  struct pollfd watched = {fd, POLLIN, 0};
  return poll(&watched, 1, 0) == 1;
}

/* A buffer that grows until it is reset. A zygote's child gets no copy. */
struct buffer {
  char *data;
  size_t len, cap;
};

static int reserve(struct buffer *b, size_t more) {
  if (b->len + more <= b->cap) return 0;
  size_t cap = b->cap ? b->cap : BUFFER;
  while (cap < b->len + more) cap *= 2;
  char *data = b->cap ? mremap(b->data, b->cap, cap, MREMAP_MAYMOVE)
                      : mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return -1;
  if (!b->cap) madvise(data, cap, MADV_DONTFORK);
  b->data = data, b->cap = cap;
  return 0;
}

static void reset(struct buffer *b) {
  b->len = 0;
  if (b->cap > BUFFER) mremap(b->data, b->cap, BUFFER, 0), b->cap = BUFFER;
}

static int append(struct buffer *b, const void *data, size_t n) {
  if (!n) return 0;
  if (reserve(b, n)) return -1;
  memcpy(b->data + b->len, data, n);
  b->len += n;
  return 0;
}

/* Replies gather here for a moment, so that a row of short tests wakes the host once. */
static struct buffer replies;
static uint64_t oldest_reply_us;

static int flush_replies(void) {
  for (size_t sent = 0; sent < replies.len;) {
    ssize_t k = send(ctl, replies.data + sent, replies.len - sent, MSG_NOSIGNAL);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return -1;
    sent += (size_t)k;
  }
  reset(&replies);
  return 0;
}

static int reply_with(const struct reply *r, const struct buffer *out, const struct buffer *err) {
  if (!replies.len) oldest_reply_us = now_us();
  if (append(&replies, r, sizeof *r) || append(&replies, out->data, r->out_len) || append(&replies, err->data, r->err_len))
    return -1;
  int wait_for_more = replies.len < CHUNK && now_us() - oldest_reply_us < GATHER_US && readable(ctl);
  return wait_for_more ? 0 : flush_replies();
}

/* Sends what a program has printed so far. The host puts the pieces together. */
static int send_piece(struct buffer *out) {
  struct reply piece = {.flags = MORE, .out_len = (uint32_t)out->len};
  int failed = append(&replies, &piece, sizeof piece) || append(&replies, out->data, out->len) || flush_replies();
  reset(out);
  return failed ? -1 : 0;
}

/* ---- files ---------------------------------------------------------------------------------------------------- */

/* The names in a directory, but for "." and "..". opendir(3) would keep them on the heap, where a zygote's child could
 * find them. */
struct listing {
  int fd;
  ssize_t at, len;
  char entries[4096] __attribute__((aligned(__alignof__(struct dirent64))));
};

static int list(struct listing *l, int dir, const char *name) {
  l->fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  l->at = l->len = 0;
  return l->fd < 0 ? -1 : 0;
}

static const char *next_name(struct listing *l) {
  for (;;) {
    if (l->at == l->len) l->len = getdents64(l->fd, l->entries, sizeof l->entries), l->at = 0;
    if (l->len <= 0) return NULL;
    struct dirent64 *entry = (struct dirent64 *)(void *)(l->entries + l->at);
    l->at += entry->d_reclen;
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) return entry->d_name;
  }
}

/* Empties the directory however deep it goes, without recursion or long paths: a subdirectory's own subdirectories are
 * first moved up beside it. The program is dead, so nothing moves under us. */
static void empty_directory(const char *path) {
  struct listing top, sub;
  if (list(&top, AT_FDCWD, path)) return;
  unsigned moved = 0;
  for (int again = 1; again;) {
    again = 0;
    lseek(top.fd, 0, SEEK_SET), top.at = top.len = 0;
    for (const char *name; (name = next_name(&top));) {
      if (!unlinkat(top.fd, name, 0)) continue;
      fchmodat(top.fd, name, 0700, 0);
      if (list(&sub, top.fd, name)) continue;
      for (const char *inner; (inner = next_name(&sub));) {
        if (!unlinkat(sub.fd, inner, 0)) continue;
        char place[32];
        snprintf(place, sizeof place, ".moved-%d-%u", getpid(), moved++);
        fchmodat(sub.fd, inner, 0700, 0); /* moving a directory rewrites its "..": it must be writable */
        renameat(sub.fd, inner, top.fd, place);
        again = 1;
      }
      close(sub.fd);
      if (unlinkat(top.fd, name, AT_REMOVEDIR)) again = again || errno == ENOTEMPTY;
    }
    if (moved > 10 * MAX_INODES) break;
  }
  close(top.fd);
}

static uint64_t inodes_used(const char *path) {
  struct statvfs s;
  return statvfs(path, &s) ? 0 : (uint64_t)(s.f_files - s.f_ffree);
}

static uint64_t kb_used(const char *path) {
  struct statvfs s;
  return statvfs(path, &s) ? 0 : (uint64_t)(s.f_blocks - s.f_bfree) * s.f_frsize / 1024;
}

static void wipe(void) {
  for (size_t i = 0; i < sizeof writable / sizeof *writable; i++) {
    chmod(writable[i], 01777);
    if (inodes_used(writable[i]) > 1) empty_directory(writable[i]);
    utimensat(AT_FDCWD, writable[i], NULL, 0);
  }
}

/* Number of sockets in this network namespace: all of them are the program's. */
static int sockets_open(void) {
  char text[4096];
  int lines = 0;
  ssize_t n;
  for (off_t at = 0; (n = pread(unix_fd, text, sizeof text, at)) > 0; at += n)
    for (ssize_t i = 0; i < n; i++) lines += text[i] == '\n';
  return lines ? lines - 1 : 0; /* the first has the headings */
}

/* Sockets and files that a dead program had sent into its own sockets live until the kernel collects them, with their
 * names and locks. This network namespace has no other sockets; closing one more sets the collection off. Returns -1
 * when they stay, and this sandbox has to be given up. */
static int collect_sockets(void) {
  for (int tries = 0; tries < 200; tries++) {
    if (!sockets_open()) return 0;
    close(socket(AF_UNIX, SOCK_STREAM, 0));
    usleep(500);
  }
  return -1;
}

static int put_file(const char *path, const char *data, size_t n) {
  char parent[PATH_ROOM];
  snprintf(parent, sizeof parent, "%s", path);
  for (char *slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(parent, 0755);
    *slash = '/';
  }
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
  if (fd < 0) return -1;
  while (n) {
    ssize_t k = write(fd, data, n);
    if (k <= 0) break;
    data += k, n -= (size_t)k;
  }
  return close(fd) || n ? -1 : 0;
}

/* Sends every regular file at or, with `folders`, under `path`, which has room for PATH_ROOM bytes and comes back as it
 * was, as (u32 path length, u32 size, path, bytes), in `*room` bytes, and leaves the end of it in `into`. A file is never
 * here as a whole, where it would be memory of the sandbox a second time. */
static int get_files(char *path, int folders, size_t *room, struct buffer *into, int *left) {
  struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = RESOLVE_NO_SYMLINKS};
  int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
  struct stat s;
  if (fd < 0) return -1;
  if (fstat(fd, &s)) goto bad;
  if (folders && S_ISDIR(s.st_mode)) {
    struct listing files = {.fd = fd};
    size_t end = strlen(path);
    int failed = 0;
    for (const char *name; !failed && (name = next_name(&files));) {
      if (end + strlen(name) + 2 > PATH_ROOM) failed = -1;
      else path[end] = '/', strcpy(path + end + 1, name), failed = get_files(path, folders, room, into, left);
    }
    path[end] = 0;
    close(fd);
    return failed;
  }
  uint32_t head[2] = {(uint32_t)strlen(path), (uint32_t)s.st_size};
  size_t whole = (size_t)s.st_size + head[0] + sizeof head;
  if (!S_ISREG(s.st_mode) || --*left < 0 || whole > *room) goto bad;
  *room -= whole;
  if (append(into, head, sizeof head) || append(into, path, head[0])) goto bad;
  for (size_t got = 0; got < head[1];) {
    if (into->len >= CHUNK && send_piece(into)) goto bad;
    if (reserve(into, CHUNK)) goto bad;
    ssize_t k = read(fd, into->data + into->len, head[1] - got < CHUNK ? head[1] - got : CHUNK);
    if (k <= 0) goto bad;
    got += (size_t)k, into->len += (size_t)k;
  }
  close(fd);
  return 0;
bad:
  close(fd);
  return -1;
}

static uint64_t cpu_us(const struct rusage *u) {
  return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000u + (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

/* ---- watching ------------------------------------------------------------------------------------------------- */

static struct buffer known;   /* struct known, of look_at() */
static struct buffer seen;    /* inode numbers, of mappings_kb() */
static struct buffer stopped; /* pid_t of those that the last quick look found stopped */

struct usage {
  uint64_t cpu_us, waited_for_us, rss_kb, processes; /* waited_for_us: the part of cpu_us that dead children used */
  uint64_t seen_us;                                  /* see seen_cpu_us() */
};

/* The next of the sandbox's processes, without this one and process 1; 0 behind the last. */
static pid_t next_process(struct listing *l) {
  for (const char *name; (name = next_name(l));) {
    pid_t pid = name[0] >= '0' && name[0] <= '9' ? atoi(name) : 0;
    if (pid > 1 && pid != getpid()) return pid;
  }
  return 0;
}

static size_t read_at(int dir, const char *name, char *into, size_t cap) {
  int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, into, cap - 1);
  if (fd >= 0) close(fd);
  into[n < 0 ? 0 : n] = 0;
  return n < 0 ? 0 : (size_t)n;
}

/* What a process's mappings take beside its resident memory, in KB: four of them 1 KB of the kernel's. Those of shared
 * anonymous memory add what they share, each piece of it once, by its inode number, to `*shared_kb`. */
static uint64_t mappings_kb(pid_t pid, uint64_t *shared_kb) {
  char name[32], text[8192], *end;
  uint64_t count = 0;
  size_t len = 0;
  snprintf(name, sizeof name, "%d/maps", pid);
  int fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
  for (ssize_t k; fd >= 0 && (k = read(fd, text + len, sizeof text - 1 - len)) > 0;) {
    char *line = text;
    text[len += (size_t)k] = 0;
    for (; (end = strchr(line, '\n')); line = end + 1) {
      unsigned long long from, to, inode;
      *end = 0, count++;
      if (!strstr(line, "/dev/zero (deleted)") || sscanf(line, "%llx-%llx %*s %*s %*s %llu", &from, &to, &inode) != 3) continue;
      int found = 0;
      for (size_t i = 0; i < seen.len; i += sizeof inode) found |= !memcmp(seen.data + i, &inode, sizeof inode);
      if (!found && !append(&seen, &inode, sizeof inode)) *shared_kb += (to - from) / 1024;
    }
    len = strlen(line);
    if (len == sizeof text - 1) len = 0; /* nothing shared has so long a name */
    memmove(text, line, len);
  }
  if (fd >= 0) close(fd);
  return count / 4;
}

/* The number behind `key`, which begins with a line end, in a file about a process; `otherwise` where it is not there. */
static uint64_t told_kb(pid_t pid, const char *file, const char *key, uint64_t otherwise) {
  char name[32], text[4096];
  snprintf(name, sizeof name, "%d/%s", pid, file);
  read_at(proc_fd, name, text, sizeof text);
  char *line = strstr(text, key);
  return line ? strtoull(line + strlen(key), NULL, 10) : otherwise;
}

/* Proportional set size, which counts a page shared by k processes 1/k in each, or the resident size where it is hidden. */
static uint64_t pss_kb(pid_t pid, uint64_t resident_kb) {
  return told_kb(pid, "smaps_rollup", "\nPss:", resident_kb);
}

/* Page tables of a process, in KB. They can be many times what it has mapped. */
static uint64_t page_tables_kb(pid_t pid) {
  return told_kb(pid, "status", "\nVmPTE:", 0);
}

/* The part of a process's resident memory that is shared, as measure(precise) counts it; 0 where that is hidden. */
static uint64_t resident_shared_kb(pid_t pid, int precise) {
  return precise ? told_kb(pid, "smaps_rollup", "\nPss_Shmem:", 0) : told_kb(pid, "status", "\nRssShmem:", 0);
}

/* CPU time of a process that lives or waits to be reaped, to the microsecond. */
static uint64_t living_cpu_us(pid_t pid) {
  clockid_t clock;
  struct timespec t;
  if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t)) return 0;
  return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

/* The processes of the last look, and what those of earlier ones had used that are gone. Nothing else has the time of a
 * child that the kernel reaps by itself because its parent ignores SIGCHLD, but a cgroup's counter (cpu_fd). */
struct known {
  pid_t pid;
  int is_here;
  unsigned long long since;
  uint64_t cpu_us;
};
static uint64_t gone_us;

static void look_at(pid_t pid, unsigned long long since) {
  struct known *k = (struct known *)(void *)known.data, *end = k + known.len / sizeof *k, fresh = {pid, 1, since, 0};
  while (k < end && (k->pid != pid || k->since != since)) k++;
  if (k == end) {
    if (append(&known, &fresh, sizeof fresh)) return;
    k = (struct known *)(void *)(known.data + known.len) - 1;
  }
  uint64_t now = living_cpu_us(pid);
  if (now > k->cpu_us) k->cpu_us = now;
  k->is_here = 1;
}

/* Ends a look: the CPU time of all processes that any look has found, each as far as it was seen. */
static uint64_t seen_cpu_us(void) {
  struct known *all = (struct known *)(void *)known.data;
  size_t n = known.len / sizeof *all, here = 0;
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    if (!all[i].is_here) {
      gone_us += all[i].cpu_us;
      continue;
    }
    sum += all[i].cpu_us;
    all[here] = all[i];
    all[here++].is_here = 0;
  }
  known.len = here * sizeof *all;
  return gone_us + sum;
}

/* CPU time and memory of every process in the sandbox but this one; zombies keep theirs until they are reaped. */
static struct usage measure(int precise) {
  struct usage sum = {0};
  static uint64_t tick_us, page_kb;
  if (!tick_us) tick_us = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK), page_kb = (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
  struct listing processes;
  if (list(&processes, proc_fd, ".")) return sum;
  if (!precise) reset(&stopped);
  for (pid_t pid; (pid = next_process(&processes));) {
    char name[32], text[1024];
    snprintf(name, sizeof name, "%d/stat", pid);
    if (!read_at(proc_fd, name, text, sizeof text)) continue;
    char *p = strrchr(text, ')');
    unsigned long long v[22] = {0};
    if (!p) continue;
    p += 2;
    if (!precise && *p == 'T') append(&stopped, &pid, sizeof pid);
    for (int i = 0; i < 22 && p; i++) {
      v[i] = strtoull(p, NULL, 10);
      if ((p = strchr(p, ' '))) p++;
    }
    sum.cpu_us += (v[11] + v[12] + v[13] + v[14]) * tick_us; /* utime stime cutime cstime */
    sum.waited_for_us += (v[13] + v[14]) * tick_us;
    sum.processes++;
    if (cpu_fd < 0) look_at(pid, v[19]);
    sum.rss_kb += precise ? pss_kb(pid, v[21] * page_kb) : v[21] * page_kb;
  }
  close(processes.fd);
  sum.seen_us = seen_cpu_us();
  return sum;
}

/* `resident_kb`, of all processes, and what is not resident, as far as it matters whether that is more than `limit_kb`:
 * shared anonymous memory is resident in no process that only passed it on. Processes with many mappings make this slow.
 * Unless they are `held`, their resident memory is looked at meanwhile. */
static uint64_t memory_kb(uint64_t resident_kb, uint64_t limit_kb, int held) {
  uint64_t rest = 0, shared_kb = 0, resident_shared = 0, looked = now_us();
  struct listing processes;
  reset(&seen);
  if (list(&processes, proc_fd, ".")) return resident_kb;
  for (pid_t pid; resident_kb + rest <= limit_kb && (pid = next_process(&processes));) {
    rest += mappings_kb(pid, &shared_kb) + page_tables_kb(pid);
    resident_shared += resident_shared_kb(pid, held);
    if (held || now_us() - looked < MEMORY_LOOK_US) continue;
    resident_kb = measure(0).rss_kb, looked = now_us();
  }
  close(processes.fd);
  return resident_kb + rest + (shared_kb > resident_shared ? shared_kb - resident_shared : 0);
}

/* Whether the processes take more than `limit_kb`, of which a quick look has found `resident_kb`. That counts what they
 * share once for each. What counts it right takes longer than memory may be there for: they stand still meanwhile. */
static int over_memory(uint64_t resident_kb, uint64_t limit_kb) {
  if (memory_kb(resident_kb, limit_kb, 0) <= limit_kb) return 0;
  kill(-1, SIGSTOP);
  if (memory_kb(measure(1).rss_kb, limit_kb, 1) > limit_kb) return 1;
  struct listing processes;
  if (list(&processes, proc_fd, ".")) return 1;
  for (pid_t pid; (pid = next_process(&processes));) {
    int before = 0;
    for (size_t i = 0; i < stopped.len; i += sizeof pid) before |= !memcmp(stopped.data + i, &pid, sizeof pid);
    if (!before) kill(pid, SIGCONT);
  }
  close(processes.fd);
  return 0;
}

/* ---- no other program ----------------------------------------------------------------------------------------- */

static int seccomp_filter(unsigned flags, struct sock_filter *code, size_t n) {
  struct sock_fprog filter = {(unsigned short)n, code};
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
}

/* From here on execve and execveat are refused with EPERM in all that this process starts, so that a program can go on;
 * threads and fork are not touched. The kernel asks us each time, through attempts_fd, which is how a verdict can say so.
 * Where it cannot (before Linux 5.0, or when a container's manager listens already) the filter refuses by itself.
 *
 * The one execve that is let through is ours. It carries a password in the registers of its fifth and sixth argument,
 * which execve does not have: a filter sees them, and the program that it starts finds them cleared. A zygote has none:
 * nothing is started after it, and a forked child could find a password in its memory. */
static int seal(void) {
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_HALF(n, high) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]) + 4 * (high))
#define SKIP_UNLESS(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, n)
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, action)
#ifndef ZYGOTE
  if (getrandom(password, sizeof password, 0) != sizeof password) return -1;
#endif
  struct sock_filter code[] = {
      LOAD(nr),
#ifndef ZYGOTE
      SKIP_UNLESS(SYS_execve, 9),
      LOAD_HALF(4, 0), SKIP_UNLESS(password[0], 8),
      LOAD_HALF(4, 1), SKIP_UNLESS(password[0] >> 32, 6),
      LOAD_HALF(5, 0), SKIP_UNLESS(password[1], 4),
      LOAD_HALF(5, 1), SKIP_UNLESS(password[1] >> 32, 2),
      ANSWER(SECCOMP_RET_ALLOW),
#else
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 1, 0),
#endif
      SKIP_UNLESS(SYS_execveat, 1),
      ANSWER(SECCOMP_RET_USER_NOTIF),
      ANSWER(SECCOMP_RET_ALLOW),
  };
  size_t n = sizeof code / sizeof *code;
  attempts_fd = seccomp_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER, code, n);
  if (attempts_fd >= 0) return 0;
  code[n - 2].k = SECCOMP_RET_ERRNO | EPERM;
  return seccomp_filter(0, code, n);
}

/* Refuses one attempt, so that one that tries without end does not keep us from watching it. */
static void refuse_attempt(struct reply *r) {
  struct seccomp_notif asked = {0};
  if (ioctl(attempts_fd, SECCOMP_IOCTL_NOTIF_RECV, &asked)) return; /* it has died meanwhile */
  struct seccomp_notif_resp answer = {.id = asked.id, .error = -EPERM};
  ioctl(attempts_fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  r->exec_attempts++;
}

/* ---- asleep, or waiting for a core ----------------------------------------------------------------------------- */

#define LOOK_US 100000u

/* A time from half of `mean_us` to one and a half from now, so that no program can tell when it is looked at. */
static uint64_t soon(uint64_t mean_us) {
  uint32_t dice = 0;
  getrandom(&dice, sizeof dice, 0);
  return now_us() + mean_us / 2 + mean_us * dice / UINT32_MAX;
}

/* Whether a thread in the sandbox runs, or would if it had a core. On a machine with free cores a program that is found
 * so at a share p of random moments uses p of a core's time. */
static int anyone_ready(void) {
  int ready = 0;
  struct listing processes, threads;
  if (list(&processes, proc_fd, ".")) return 0;
  for (pid_t pid; !ready && (pid = next_process(&processes));) {
    char name[300], text[1024];
    snprintf(name, sizeof name, "%d/task", pid);
    if (list(&threads, proc_fd, name)) continue;
    for (const char *thread; !ready && (thread = next_name(&threads));) {
      snprintf(name, sizeof name, "%s/stat", thread);
      char *state = read_at(threads.fd, name, text, sizeof text) ? strrchr(text, ')') : NULL;
      ready = state && state[1] == ' ' && state[2] == 'R';
    }
    close(threads.fd);
  }
  close(processes.fd);
  return ready;
}

/* Whether the kernel has killed for memory in this sandbox since the last call, by its cgroup's counter. */
static int out_of_memory(void) {
  char text[512];
  ssize_t n = oom_fd < 0 ? -1 : pread(oom_fd, text, sizeof text - 1, 0);
  if (n < 0) return 0;
  text[n] = 0;
  char *line = strstr(text, "oom_kill ");
  uint64_t kills = line ? strtoull(line + 9, NULL, 10) : oom_kills, before = oom_kills;
  oom_kills = kills;
  return kills > before;
}

/* CPU time of the whole sandbox in microseconds, by its cgroup's counter; 0 without one. No other count has the time of
 * children that the kernel reaped by itself because their parent ignored SIGCHLD. */
static int64_t sandbox_cpu_us(void) {
  char text[512];
  ssize_t n = cpu_fd < 0 ? -1 : pread(cpu_fd, text, sizeof text - 1, 0);
  if (n <= 0) return 0;
  text[n] = 0;
  char *v2 = strstr(text, "usage_usec ");
  int64_t all = (int64_t)(v2 ? strtoull(v2 + 11, NULL, 10) : strtoull(text, NULL, 10) / 1000);
  struct rusage own;
  getrusage(RUSAGE_SELF, &own);
  return all - (int64_t)cpu_us(&own);
}

/* A program that was started, and our ends of its pipes. */
struct started {
  pid_t pid;
  int pidfd, out, err;
  int go, done;           /* pipes to a resident program, for "here is a test" and "it is done"; else -1 */
  uint64_t cpu_before_us; /* CPU time used before this test */
  uint64_t cpu_seen_us;   /* see seen_cpu_us() */
  int64_t cpu_mark;       /* the sandbox's counter at the first look in this test */
};

static uint32_t over_a_limit(const struct request *q, struct started *p) {
  if (out_of_memory()) return MEMORY;
  struct usage u = measure(0);
  int64_t counted = sandbox_cpu_us();
  if (!p->cpu_mark) p->cpu_mark = counted;
  p->cpu_seen_us = u.seen_us;
  if ((u.cpu_us > u.seen_us ? u.cpu_us : u.seen_us) > p->cpu_before_us + q->cpu_ms * 1000ull) return CPU;
  if (counted - p->cpu_mark > q->cpu_ms * 1000ll + COUNTER_SLACK_US) return CPU;
  uint64_t files_kb = 0;
  if (sockets_open() > MAX_SOCKETS) return FILES; /* each can hold 200 KB that only a memory cgroup would count */
  for (size_t i = 0; i < sizeof writable / sizeof *writable; i++) {
    if (inodes_used(writable[i]) > MAX_INODES) return FILES;
    if (q->rss_max_kb) files_kb += kb_used(writable[i]);
  }
  if (!q->rss_max_kb) return 0;
  return files_kb > q->rss_max_kb || over_memory(u.rss_kb, q->rss_max_kb - files_kb) ? MEMORY : 0;
}

/* Reads what there is into `b`; beyond `keep` bytes it is read and dropped. Returns 0 at end of file, -1 for "later". */
static ssize_t drain(int fd, struct buffer *b, size_t keep, uint64_t *total) {
  const size_t chunk = 64u << 10;
  if (reserve(b, chunk)) return 0;
  ssize_t k = read(fd, b->data + b->len, chunk);
  if (k > 0) {
    size_t room = b->len < keep ? keep - b->len : 0;
    b->len += (size_t)k < room ? (size_t)k : room;
    *total += (uint64_t)k;
  }
  return k;
}

/* Of a long standard error the beginning and the end are kept: a checker's points come first, a traceback's reason last. */
static void keep_ends(struct buffer *err) {
  if (err->len <= STDERR_KEPT) return;
  memmove(err->data + STDERR_KEPT / 2, err->data + err->len - STDERR_KEPT / 2, STDERR_KEPT / 2);
  err->len = STDERR_KEPT;
}

/* As drain(), which finds room for all that it reads at once: what is dropped is of what came before. */
static ssize_t drain_errors(int fd, struct buffer *err, uint64_t *total) {
  if (err->len >= 2 * STDERR_KEPT) keep_ends(err);
  return drain(fd, err, 3 * STDERR_KEPT, total);
}

static void limit(int what, rlim_t value) {
  struct rlimit r = {value, value};
  setrlimit(what, &r);
}

/* Only the soft limit, as everywhere else: programs that recurse deeply raise it, often to infinity. */
static void limit_stack(rlim_t value) {
  struct rlimit r;
  if (getrlimit(RLIMIT_STACK, &r)) return;
  r.rlim_cur = value < r.rlim_max ? value : r.rlim_max;
  setrlimit(RLIMIT_STACK, &r);
}

static void become_the_program(const struct request *q, const int streams[3], int go, int done) {
  unsigned kept = 3;
  for (int i = 0; i < 3; i++) dup2(streams[i], i);
  if (q->flags & RESIDENT) {
    go = fcntl(go, F_DUPFD, 5), done = fcntl(done, F_DUPFD, 5);
    dup2(go, 3), dup2(done, 4), kept = 5;
  } else {
    limit(RLIMIT_CPU, (q->cpu_ms + 999) / 1000 + 1); /* a last resort for each process; the watch below counts them all */
  }
  syscall(SYS_close_range, kept, ~0u, 0u);
  if (q->address_space_mb) limit(RLIMIT_AS, (rlim_t)q->address_space_mb << 20);
}

/* Makes one file the copy of another. */
static int copy(int from, int to) {
  if (lseek(to, 0, SEEK_SET) || ftruncate(to, 0)) return -1;
  ssize_t k;
  while ((k = sendfile(to, from, NULL, 1u << 30)) > 0) continue;
  return k || lseek(to, 0, SEEK_SET) ? -1 : 0;
}


#ifdef ZYGOTE
/* A forked program has a copy of our memory. The loop runs on a stack that is not in it, and for a fork goes back to
 * Python's, which is as it was before the first program. */
#define LOOP_STACK (4u << 20)
static ucontext_t python, loop;
static int loop_ended;
static pid_t forked;
static struct {
  struct request request;
  int streams[3];
} next;

static pid_t start_process(const struct request *q, const int streams[3], int go, int done) {
  (void)go, (void)done; /* a zygote's programs do not stay */
  next.request = *q;
  memcpy(next.streams, streams, sizeof next.streams);
  swapcontext(&loop, &python);
  return forked;
}
#else
static pid_t start_process(const struct request *q, const int streams[3], int go, int done) {
  pid_t pid = vfork();
  if (pid) return pid;
  become_the_program(q, streams, go, done);
  syscall(SYS_execve, program[0], program, environ, 0L, password[0], password[1]);
  _exit(127);
}
#endif

/* pidfd is -1 when it could not be started. */
static void start(const struct request *q, int in, struct started *p) {
  int out[2], err[2], go[2] = {-1, -1}, done[2] = {-1, -1}, resident = q->flags & RESIDENT;
  *p = (struct started){.pid = -1, .pidfd = -1, .out = -1, .err = -1, .go = -1, .done = -1};
  reset(&known), gone_us = 0;
  if (in < 0 || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) return;
  if (resident && (pipe2(go, O_CLOEXEC) || pipe2(done, O_CLOEXEC))) return;
  p->pid = start_process(q, (int[]){in, out[1], err[1]}, go[0], done[1]);
  close(out[1]), close(err[1]);
  p->out = out[0], p->err = err[0], p->go = go[1], p->done = done[0]; /* our copy of go[0] spares us a SIGPIPE */
  int ours[4] = {p->out, p->err, p->go, p->done};
  for (int i = 0; i < (resident ? 4 : 2); i++) fcntl(ours[i], F_SETFL, O_NONBLOCK);
  p->pidfd = p->pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, p->pid, 0);
}

/* Reads what the program prints until it ends, has done a test or meets a limit. Returns -1 when the host is gone. */
static int watch(const struct request *q, struct started *p, uint64_t start, struct reply *r, struct buffer *out,
                 struct buffer *err, uint64_t totals[2]) {
  struct pollfd watched[7] = {{p->pidfd, POLLIN, 0}, {p->out, POLLIN, 0},       {p->err, POLLIN, 0},       {ctl, 0, 0},
                              {p->done, POLLIN, 0},  {attempts_fd, POLLIN, 0}, {abandon_fd, POLLIN, 0}};
  uint64_t tick = start + q->tick_ms * 1000ull, looked = start, look = soon(LOOK_US), asleep_us = 0, t = start;
  uint64_t late = start + GATHER_US; /* from then on no reply waits for this test's */
  int host_gone = 0;
  p->cpu_mark = 0;
  while (!r->flags && !host_gone) {
    watched[1].events = out->len < HELD_BACK ? POLLIN : 0;
    watched[3].events = out->len >= CHUNK || (replies.len && t >= late) ? POLLOUT : 0;
    int n = poll(watched, 7, tick > t ? (int)((tick - t + 999) / 1000) : 0);
    if (n < 0) continue;
    if (watched[1].revents && drain(p->out, out, q->output_max, &totals[0]) == 0) watched[1].fd = -1;
    if (watched[2].revents && drain_errors(p->err, err, &totals[1]) == 0) watched[2].fd = -1;
    if (totals[0] > q->output_max || totals[1] > q->output_max) r->flags |= OUTPUT;
    if (watched[5].revents & POLLIN) refuse_attempt(r);
    if (watched[0].revents || watched[4].revents) break;
    if (watched[3].revents & ~POLLOUT || (watched[3].revents && (out->len >= CHUNK ? send_piece(out) : flush_replies())))
      host_gone = 1;
    if (watched[6].revents) r->flags |= FAILED;
    t = now_us();
    if (t < tick) continue;
    /* most programs have ended before they need a look at their threads, which over_memory() may stop and wake */
    int asleep = t >= look && out->len < HELD_BACK && !anyone_ready();
    r->flags |= over_a_limit(q, p);
    tick = soon(q->tick_ms * 1000ull);
    if (r->flags || t < look) continue;
    /* CPU time decides. This is for programs that sleep. When we ourselves get no core, a look comes late: it counts for
     * the time of a usual one, since what happened before it is unknown. */
    if (asleep) asleep_us += t - looked < 2 * LOOK_US ? t - looked : 2 * LOOK_US;
    looked = t, look = soon(LOOK_US);
    if (asleep_us >= q->wall_ms * 1000ull) r->flags |= WALL;
    else if (t - start >= q->patience_ms * 1000ull) r->flags |= 2 * asleep_us > t - start ? WALL : STARVED;
  }
  r->wall_us = now_us() - start;
  return host_gone ? -1 : 0;
}

/* Takes what is in the pipes by now, then looks at what was used. It does not wait for the end of file: a write end may
 * live on in a message between dead sockets until the kernel collects it. */
static void conclude(const struct request *q, const struct started *p, struct reply *r, struct buffer *out,
                     struct buffer *err, uint64_t totals[2]) {
  while (totals[0] <= q->output_max && drain(p->out, out, q->output_max, &totals[0]) > 0) continue;
  while (totals[1] <= q->output_max && drain_errors(p->err, err, &totals[1]) > 0) continue;
  keep_ends(err);
  if (totals[0] > q->output_max || totals[1] > q->output_max) r->flags |= OUTPUT;
  int64_t counted = p->cpu_mark ? sandbox_cpu_us() - p->cpu_mark : 0;
  if (p->cpu_seen_us > p->cpu_before_us + r->cpu_us) r->cpu_us = p->cpu_seen_us - p->cpu_before_us;
  if (counted > (int64_t)r->cpu_us + COUNTER_SLACK_US) r->cpu_us = (uint64_t)counted;
  if (r->cpu_us > q->cpu_ms * 1000ull) r->flags |= CPU;
  if (out_of_memory() || (q->rss_max_kb && r->rss_kb > q->rss_max_kb)) r->flags |= MEMORY;
  r->out_len = (uint32_t)out->len, r->err_len = (uint32_t)err->len;
}

/* Waits for every process. One that outlives its parent becomes our child before that parent can be waited for, so that
 * no process is left once there is no child. Most programs leave none to kill. */
static void reap(const struct started *p, int killed, struct reply *r) {
  if (killed) kill(-1, SIGKILL);
  for (;;) {
    int status;
    struct rusage u;
    pid_t dead = wait4(-1, &status, killed ? 0 : WNOHANG, &u);
    if (dead < 0 && errno == EINTR) continue;
    if (dead < 0) break;
    if (dead == 0) {
      kill(-1, SIGKILL);
      killed = 1;
      continue;
    }
    if (dead == p->pid) r->status = status, r->rss_kb = (uint32_t)u.ru_maxrss;
    r->cpu_us += cpu_us(&u);
  }
}

/* One test with the input `in`. Returns 0 with the reply and the streams filled in; -1: the host is gone. */
static int run(const struct request *q, int in, struct reply *r, struct buffer *out, struct buffer *err) {
  uint64_t began = now_us(), totals[2] = {0, 0};
  struct started p;
  start(q, in, &p);
  if (p.pidfd < 0) r->flags = FAILED;
  int host_gone = watch(q, &p, began, r, out, err, totals);
  reap(&p, r->flags || host_gone, r);
  conclude(q, &p, r, out, err, totals);
  close(p.out), close(p.err), close(p.pidfd);
  return host_gone;
}

/* One test in a program that stays for the next: it gets a number on 3 when its input lies behind 0, and gives it back on
 * 4 when it has done the test (native/Loop.java). Unless it does that, within its limits, and is alone in the sandbox
 * then, this test and all that follow have FAILED: the host runs them again, each in a process of its own. */
static struct resident {
  struct started p;
  int in, lost;
} resident;

static int run_resident(const struct request *q, int in, struct reply *r, struct buffer *out, struct buffer *err) {
  struct started *p = &resident.p;
  uint64_t began = now_us(), totals[2] = {0, 0}, number, said[2];
  if (resident.lost) r->flags = FAILED;
  if (resident.lost) return 0;
  if (!p->pid) {
    resident.in = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (copy(in, resident.in)) r->flags = FAILED;
    start(q, resident.in, p);
  } else if (copy(in, resident.in)) {
    r->flags = FAILED;
  }
  if (p->pidfd < 0 || getrandom(&number, sizeof number, 0) != sizeof number) r->flags = FAILED;
  if (!r->flags && write(p->go, &number, sizeof number) != sizeof number) r->flags = FAILED;
  int host_gone = watch(q, p, began, r, out, err, totals);
  if (r->flags || host_gone || read(p->done, said, sizeof said) != sizeof number || said[0] != number) resident.lost = 1;
  struct usage u = measure(0);
  uint64_t cpu_now_us = living_cpu_us(p->pid) + u.waited_for_us;
  r->cpu_us = cpu_now_us - p->cpu_before_us, r->rss_kb = (uint32_t)u.rss_kb;
  p->cpu_before_us = cpu_now_us;
  conclude(q, p, r, out, err, totals);
  if (resident.lost || r->flags || u.processes != 1) {
    resident.lost = 1, r->flags |= FAILED;
    reap(p, 1, r);
  }
  return host_gone;
}

/* Ends what is left of a resident program. */
static void end_resident(void) {
  struct reply unused = {0};
  if (!resident.p.pid) return;
  if (!resident.lost) reap(&resident.p, 1, &unused);
  int ours[] = {resident.in, resident.p.pidfd, resident.p.out, resident.p.err, resident.p.go, resident.p.done};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) close(ours[i]);
  resident = (struct resident){0};
}

/* Makes room for the next program: `data` has its arguments, each with a 0 behind it. A zygote has its command. What was
 * abandoned ends here. Returns -1 when something of the last one stays. */
static int next_program(const struct buffer *data) {
  uint64_t abandoned;
  end_resident();
  if (readable(abandon_fd) && read(abandon_fd, &abandoned, sizeof abandoned) < 0) return -1;
  if (collect_sockets()) return -1;
  wipe();
#ifndef ZYGOTE
  static struct buffer arguments;
  size_t n = 0;
  reset(&arguments);
  if (append(&arguments, data->data, data->len)) return -1;
  for (char *at = arguments.data; at < arguments.data + arguments.len; at += strlen(at) + 1) {
    if (n + 1 >= sizeof program / sizeof *program) return -1;
    program[n++] = at;
  }
  program[n] = NULL;
#else
  (void)data;
#endif
  return 0;
}

static struct buffer data, out, err; /* of one request and its reply */

/* Serves requests until the host closes the socket. */
static void serve_requests(void) {
  struct request q;
  char path[PATH_ROOM];
  for (int in = -1; !receive(&q, sizeof q, &in); in = -1) {
    struct reply r = {0};
    if (q.path_len >= sizeof path || receive(path, q.path_len, NULL)) return;
    path[q.path_len] = 0;
    reset(&data), reset(&out), reset(&err);
    if (reserve(&data, q.data_len ? q.data_len : 1) || receive(data.data, q.data_len, NULL)) return;
    data.len = q.data_len;
    if (q.op == RUN && readable(abandon_fd)) {
      r.flags = FAILED;
    } else if (q.op == RUN) {
      if (q.flags & WIPE) {
        if (!(q.flags & RESIDENT) && collect_sockets()) return; /* a resident program may have some, as Java's file channels do */
        wipe();
      }
      if ((q.flags & RESIDENT ? run_resident : run)(&q, in, &r, &out, &err)) return;
    } else if (q.op == PROGRAM) {
      if (next_program(&data)) return;
    } else if (q.op == CLEAR) {
      if (collect_sockets()) return;
      wipe();
    } else if (q.op == PUT) {
      if (put_file(path, data.data, q.data_len)) r.flags = FAILED;
    } else if (q.op == GET) {
      int left = MAX_FETCHED;
      size_t room = q.output_max;
      if (get_files(path, !(q.flags & ONE_FILE), &room, &out, &left)) r.flags = FAILED, out.len = 0;
      r.out_len = (uint32_t)out.len;
    }
    if (in >= 0) close(in);
    if (reply_with(&r, &out, &err)) return;
  }
}

#ifdef ZYGOTE
static void serve_on_own_stack(void) {
  serve_requests();
  loop_ended = 1;
}

/* Clears what a child could find beside stack and buffers: what is left of those, and counters of what came before. */
static void forget(void) {
  replies = data = out = err = known = seen = stopped = (struct buffer){0};
  oldest_reply_us = gone_us = oom_kills = 0;
  memset(&next, 0, sizeof next);
  memset(&loop, 0, sizeof loop);
}

/* Returns 1 in a forked child, 0 at the end. */
int serve(void) {
  void *stack = mmap(NULL, LOOP_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED || madvise(stack, LOOP_STACK, MADV_DONTFORK) || getcontext(&loop)) return 0;
  loop.uc_stack.ss_sp = stack, loop.uc_stack.ss_size = LOOP_STACK, loop.uc_link = &python;
  makecontext(&loop, serve_on_own_stack, 0);
  for (;;) {
    swapcontext(&python, &loop);
    if (loop_ended) return 0;
    forked = fork();
    if (forked == 0) break;
  }
  become_the_program(&next.request, next.streams, -1, -1);
  prctl(PR_SET_DUMPABLE, 1); /* without it the program could not open its own /proc/self/fd */
  forget();
  return 1;
}
#endif


/* Sets this process up: the filter from `filter_fd` applies to it and to all that it starts, and with `sealed` what it
 * starts can start nothing else. Says hello when ready. */
int prepare(int ctl_fd, int filter_fd, int abandon_event_fd, int oom_counter_fd, int cpu_counter_fd, int max_processes,
            int stack_mb, int file_mb, int sealed) {
  static struct sock_filter code[4096];
  ctl = ctl_fd;
  abandon_fd = abandon_event_fd, oom_fd = oom_counter_fd, cpu_fd = cpu_counter_fd;
  fcntl(ctl, F_SETFD, FD_CLOEXEC);
  fcntl(abandon_fd, F_SETFD, FD_CLOEXEC);
  if (oom_fd >= 0) fcntl(oom_fd, F_SETFD, FD_CLOEXEC);
  if (cpu_fd >= 0) fcntl(cpu_fd, F_SETFD, FD_CLOEXEC);
  out_of_memory();
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1); /* for a backend that keeps process 1 for itself */
  proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  unix_fd = open("/proc/self/net/unix", O_RDONLY | O_CLOEXEC);
  ssize_t n = pread(filter_fd, code, sizeof code, 0);
  close(filter_fd);
  if (n <= 0 || proc_fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
  if (sealed && seal()) return -1;
  if (seccomp_filter(0, code, (size_t)n / sizeof *code)) return -1;
  limit(RLIMIT_CORE, 1); /* 0 would still run a core_pattern that is a pipe, outside; 1 stops both kinds */
  limit(RLIMIT_NOFILE, 256);
  limit(RLIMIT_NPROC, (rlim_t)max_processes);
  limit_stack((rlim_t)stack_mb << 20);
  limit(RLIMIT_FSIZE, (rlim_t)file_mb << 20);
  limit(RLIMIT_MSGQUEUE, 0);
  limit(RLIMIT_MEMLOCK, 1u << 20);
  return send(ctl, "!", 1, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

#ifndef ZYGOTE
int main(int argc, char **argv) {
  int n[9];
  if (argc != 10) return 2;
  for (int i = 0; i < 9; i++) n[i] = atoi(argv[i + 1]);
  if (prepare(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8])) {
    perror("runner");
    return 1;
  }
  serve_requests();
  kill(-1, SIGKILL); /* what a resident program used counts once it has been waited for */
  while (wait(NULL) > 0) continue;
  return 0;
}
#endif
