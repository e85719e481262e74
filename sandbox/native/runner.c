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
 *  - after each test every process is dead and reaped, and every writable file is gone before the next; the one exception
 *    is a process that was started to stay (run_resident), from which nothing but the right output is ever accepted.
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUN = 1, PUT = 2, GET = 3 };
enum { WIPE = 1, RESIDENT = 2 };                         /* request flags */
enum { WALL = 1, CPU = 2, OUTPUT = 4, MEMORY = 8, FILES = 16, FAILED = 32, STARVED = 64 }; /* reply flags */

#define STDERR_KEPT (64u << 10)
#define MAX_INODES 65536u
#define MAX_SOCKETS 256
#define MAX_FETCHED 4096
#define GATHER_US 4000
#define COUNTER_SLACK_US 20000

struct request {
  uint32_t op, flags, path_len, data_len;
  uint32_t cpu_ms, wall_ms, patience_ms; /* waiting for a core counts in patience_ms, not in wall_ms */
  uint32_t output_max, address_space_mb;
  uint32_t rss_max_kb, tick_ms; /* rss_max_kb is 0 where a memory cgroup holds the limit */
};
struct reply {
  int32_t status; /* the status that wait(2) gives */
  uint32_t flags, rss_kb, out_len, err_len;
  uint32_t exec_attempts; /* how often the program tried to start another and was seen to */
  uint64_t cpu_us, wall_us;
};

static int ctl, proc_fd, unix_fd, oom_fd, cpu_fd;
static uint64_t oom_kills;
static int attempts_fd = -1; /* where the kernel tells of a refused execve; -1 where it cannot */
#ifndef ZYGOTE
static char **program;
static uint64_t password[2]; /* of the one execve that seal() lets through */
#endif
static const char *const writable[] = {"/tmp", "/dev/shm"};

static uint64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static int receive(void *buffer, size_t n) {
  for (char *p = buffer; n;) {
    ssize_t k = read(ctl, p, n);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return -1;
    p += k, n -= (size_t)k;
  }
  return 0;
}

/* A buffer that grows, and is given back when it has grown large. It reads as zeros in a zygote's child, which could
 * otherwise find there what an earlier test has read and printed. */
struct buffer {
  char *data;
  size_t len, cap;
};

static int reserve(struct buffer *b, size_t more) {
  if (b->len + more <= b->cap) return 0;
  size_t cap = b->cap ? b->cap : 256u << 10;
  while (cap < b->len + more) cap *= 2;
  char *data = b->cap ? mremap(b->data, b->cap, cap, MREMAP_MAYMOVE)
                      : mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return -1;
  if (!b->cap) madvise(data, cap, MADV_WIPEONFORK);
  b->data = data, b->cap = cap;
  return 0;
}

static void reset(struct buffer *b) {
  b->len = 0;
  if (b->cap > 1u << 20) munmap(b->data, b->cap), b->data = NULL, b->cap = 0;
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
  struct pollfd more = {ctl, POLLIN, 0};
  int wait_for_more = replies.len < 64u << 10 && now_us() - oldest_reply_us < GATHER_US && poll(&more, 1, 0) == 1;
  return wait_for_more ? 0 : flush_replies();
}

/* ---- files ---------------------------------------------------------------------------------------------------- */

/* Empties the directory however deep it goes, without recursion or long paths: a subdirectory's own subdirectories are
 * first moved up beside it. The program is dead, so nothing moves under us. */
static void empty_directory(const char *path) {
  int top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (top < 0) return;
  DIR *list = fdopendir(top);
  unsigned moved = 0;
  for (int again = 1; again && list;) {
    again = 0;
    rewinddir(list);
    for (struct dirent *e; (e = readdir(list));) {
      if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
      if (!unlinkat(top, e->d_name, 0)) continue;
      fchmodat(top, e->d_name, 0700, 0);
      int sub = openat(top, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
      if (sub < 0) continue;
      DIR *inner = fdopendir(sub);
      for (struct dirent *f; inner && (f = readdir(inner));) {
        if (!strcmp(f->d_name, ".") || !strcmp(f->d_name, "..")) continue;
        if (!unlinkat(sub, f->d_name, 0)) continue;
        char name[32];
        snprintf(name, sizeof name, ".moved-%d-%u", getpid(), moved++);
        fchmodat(sub, f->d_name, 0700, 0); /* moving a directory rewrites its "..": it must be writable */
        renameat(sub, f->d_name, top, name);
        again = 1;
      }
      if (inner) closedir(inner);
      if (unlinkat(top, e->d_name, AT_REMOVEDIR)) again = again || errno == ENOTEMPTY;
    }
    if (moved > 10 * MAX_INODES) break;
  }
  if (list) closedir(list);
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
  char parent[4096];
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

/* Appends every regular file at or under `path` as (u32 path length, u32 size, path, bytes), in `limit` bytes. */
static int get_files(const char *path, size_t limit, struct buffer *into, int *left) {
  struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = RESOLVE_NO_SYMLINKS};
  int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
  struct stat s;
  if (fd < 0) return -1;
  if (fstat(fd, &s)) goto bad;
  if (S_ISDIR(s.st_mode)) {
    DIR *list = fdopendir(fd);
    if (!list) goto bad;
    int failed = 0;
    for (struct dirent *e; !failed && (e = readdir(list));) {
      char child[4096];
      if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
      if (snprintf(child, sizeof child, "%s/%s", path, e->d_name) >= (int)sizeof child) failed = -1;
      else failed = get_files(child, limit, into, left);
    }
    closedir(list);
    return failed;
  }
  uint32_t head[2] = {(uint32_t)strlen(path), (uint32_t)s.st_size};
  if (!S_ISREG(s.st_mode) || --*left < 0 || into->len + (size_t)s.st_size + head[0] + sizeof head > limit) goto bad;
  if (append(into, head, sizeof head) || append(into, path, head[0]) || reserve(into, head[1])) goto bad;
  for (size_t got = 0; got < head[1];) {
    ssize_t k = read(fd, into->data + into->len, head[1] - got);
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

struct usage {
  uint64_t cpu_us, waited_for_us, rss_kb, processes; /* waited_for_us: the part of cpu_us that dead children used */
};

static size_t read_at(int dir, const char *name, char *into, size_t cap) {
  int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, into, cap - 1);
  if (fd >= 0) close(fd);
  into[n < 0 ? 0 : n] = 0;
  return n < 0 ? 0 : (size_t)n;
}

/* Shared anonymous memory that a process has mapped, in KB. It is resident in no process that only passed it on. Each
 * piece is counted once, by its inode number. */
static uint64_t shared_kb(const char *pid, struct buffer *seen) {
  char name[64], *line = NULL;
  size_t cap = 0;
  uint64_t sum = 0;
  snprintf(name, sizeof name, "%.20s/maps", pid);
  int fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
  FILE *maps = fd < 0 ? NULL : fdopen(fd, "r");
  while (maps && getline(&line, &cap, maps) > 0) {
    unsigned long long start, end, inode;
    if (!strstr(line, "/dev/zero (deleted)") || sscanf(line, "%llx-%llx %*s %*s %*s %llu", &start, &end, &inode) != 3) continue;
    int known = 0;
    for (size_t i = 0; i < seen->len; i += sizeof inode) known |= !memcmp(seen->data + i, &inode, sizeof inode);
    if (!known && !append(seen, &inode, sizeof inode)) sum += (end - start) / 1024;
  }
  free(line);
  if (maps) fclose(maps);
  return sum;
}

/* Proportional set size, which counts a page shared by k processes 1/k in each, or the resident size where it is hidden. */
static uint64_t pss_kb(const char *pid, uint64_t resident_kb) {
  char name[64], text[1024];
  snprintf(name, sizeof name, "%.20s/smaps_rollup", pid);
  read_at(proc_fd, name, text, sizeof text);
  char *line = strstr(text, "\nPss:");
  return line ? strtoull(line + 5, NULL, 10) : resident_kb;
}

/* CPU time and memory of every process in the sandbox but this one; zombies keep theirs until they are reaped. */
static struct usage measure(int precise, int with_shared) {
  struct usage sum = {0};
  static struct buffer seen;
  reset(&seen);
  static uint64_t tick_us, page_kb;
  if (!tick_us) tick_us = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK), page_kb = (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
  int fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = fd < 0 ? NULL : fdopendir(fd);
  for (struct dirent *e; list && (e = readdir(list));) {
    if (e->d_name[0] < '0' || e->d_name[0] > '9' || atoi(e->d_name) == 1 || atoi(e->d_name) == getpid()) continue;
    char name[64], text[1024];
    snprintf(name, sizeof name, "%.20s/stat", e->d_name);
    if (!read_at(proc_fd, name, text, sizeof text)) continue;
    char *p = strrchr(text, ')');
    unsigned long long v[22] = {0};
    if (!p) continue;
    p += 2;
    for (int i = 0; i < 22 && p; i++) {
      v[i] = strtoull(p, NULL, 10);
      if ((p = strchr(p, ' '))) p++;
    }
    sum.cpu_us += (v[11] + v[12] + v[13] + v[14]) * tick_us; /* utime stime cutime cstime */
    sum.waited_for_us += (v[13] + v[14]) * tick_us;
    sum.processes++;
    if (with_shared) sum.rss_kb += shared_kb(e->d_name, &seen);
    sum.rss_kb += precise ? pss_kb(e->d_name, v[21] * page_kb) : v[21] * page_kb;
  }
  if (list) closedir(list);
  return sum;
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

/* ---- waiting for a core --------------------------------------------------------------------------------------- */

/* What the last look found of a thread. */
struct thread {
  int tid, ready;                /* ready: it ran, or would have if it had a core */
  uint64_t ran, waited, slices;  /* schedstat of its whole life, in ns; a wait is counted when it is over */
  uint64_t credit;               /* the part of the wait that goes on that has been excused, in ns */
};
#define MAX_THREADS 256
#define LOOK_US 100000u

/* How long this process has waited for a core in its life, in ns. */
static uint64_t own_wait(void) {
  char text[128];
  unsigned long long ran, waited;
  return read_at(proc_fd, "self/schedstat", text, sizeof text) && sscanf(text, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

/* The part of the time since the last look, in microseconds, in which a thread in the sandbox was ready to run and had no
 * core. The kernel counts it: nothing that a program does on a machine with free cores makes it grow faster than its CPU
 * time. It is 0 where the kernel does not count (CONFIG_SCHED_INFO).
 *
 * `own` is how long this process waited itself in that time, in ns. A thread that waited beside it may still wait now, and
 * that wait is not in its count yet. */
static uint64_t waited_for_a_core_us(struct thread *seen, int *n_seen, uint64_t since_us, uint64_t own) {
  static struct thread now[MAX_THREADS];
  uint64_t since = since_us * 1000u, longest = 0;
  int n = 0, all_the_time = 0, fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = fd < 0 ? NULL : fdopendir(fd);
  for (struct dirent *e; list && (e = readdir(list));) {
    if (e->d_name[0] < '0' || e->d_name[0] > '9' || atoi(e->d_name) == 1 || atoi(e->d_name) == getpid()) continue;
    char name[64], text[1024];
    snprintf(name, sizeof name, "%.20s/task", e->d_name);
    int task_fd = openat(proc_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *tasks = task_fd < 0 ? NULL : fdopendir(task_fd);
    for (struct dirent *t; n < MAX_THREADS && tasks && (t = readdir(tasks));) {
      unsigned long long ran, waited, slices;
      snprintf(name, sizeof name, "%.20s/schedstat", t->d_name);
      if (t->d_name[0] == '.' || !read_at(task_fd, name, text, sizeof text)) continue;
      if (sscanf(text, "%llu %llu %llu", &ran, &waited, &slices) != 3) continue;
      snprintf(name, sizeof name, "%.20s/stat", t->d_name);
      char *state = read_at(task_fd, name, text, sizeof text) ? strrchr(text, ')') : NULL;
      struct thread *p = &now[n++], *before = NULL;
      *p = (struct thread){atoi(t->d_name), state && state[1] == ' ' && state[2] == 'R', ran, waited, slices, 0};
      for (int i = 0; i < *n_seen && !before; i++)
        if (seen[i].tid == p->tid && seen[i].waited <= waited && seen[i].ran <= ran) before = &seen[i];
      if (!before) { /* it began after the last look, and has waited since then at most */
        uint64_t in_this = waited < since ? waited : since;
        if (longest < in_this) longest = in_this;
      } else if (before->slices == slices && before->ran == ran) {
        if (p->ready && before->ready) all_the_time = 1, p->credit = before->credit + since;
      } else if (waited - before->waited > before->credit + longest) {
        longest = waited - before->waited - before->credit;
      }
    }
    if (tasks) closedir(tasks);
  }
  if (list) closedir(list);
  if (!all_the_time && longest < own) {
    longest = own < since ? own : since;
    for (int i = 0; i < n; i++)
      if (now[i].ready) now[i].credit += longest; /* or the wait would count once more when it is over */
  }
  memcpy(seen, now, (size_t)n * sizeof *now);
  *n_seen = n;
  return (all_the_time ? since : longest) / 1000u;
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

static uint32_t over_a_limit(const struct request *q, uint64_t cpu_before_us, int64_t *cpu_mark) {
  if (out_of_memory()) return MEMORY;
  struct usage u = measure(0, q->rss_max_kb > 0);
  int64_t counted = sandbox_cpu_us();
  if (!*cpu_mark) *cpu_mark = counted;
  if (u.cpu_us > cpu_before_us + q->cpu_ms * 1000ull || counted - *cpu_mark > q->cpu_ms * 1000ll + COUNTER_SLACK_US) return CPU;
  uint64_t files_kb = 0;
  if (sockets_open() > MAX_SOCKETS) return FILES; /* each can hold 200 KB that only a memory cgroup would count */
  for (size_t i = 0; i < sizeof writable / sizeof *writable; i++) {
    if (inodes_used(writable[i]) > MAX_INODES) return FILES;
    if (q->rss_max_kb) files_kb += kb_used(writable[i]);
  }
  if (q->rss_max_kb && u.rss_kb + files_kb > q->rss_max_kb && measure(1, 1).rss_kb + files_kb > q->rss_max_kb)
    return MEMORY;
  return 0;
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

static void limit(int what, rlim_t value) {
  struct rlimit r = {value, value};
  setrlimit(what, &r);
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

static int fill(int fd, const char *data, size_t n) {
  while (n) {
    ssize_t k = write(fd, data, n);
    if (k <= 0) return -1;
    data += k, n -= (size_t)k;
  }
  return lseek(fd, 0, SEEK_SET) ? -1 : 0;
}

/* The input as a regular file: many JavaScript programs open /dev/stdin by name, and another user's pipe would refuse. */
static int stdin_file(const char *data, size_t n) {
  int fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  if (fd >= 0 && fill(fd, data, n)) {
    close(fd);
    return -1;
  }
  return fd;
}

/* A program that was started, and our ends of its pipes. */
struct started {
  pid_t pid;
  int pidfd, out, err;
  int go, done;           /* pipes to a resident program, for "here is a test" and "it is done"; else -1 */
  uint64_t cpu_before_us; /* CPU time used before this test */
  int64_t cpu_mark;       /* the sandbox's counter at the first look in this test */
};

/* Returns 1 in the child of a zygote, else 0; pidfd is -1 when it could not be started. */
static int start(const struct request *q, int in, struct started *p) {
  int out[2], err[2], go[2] = {-1, -1}, done[2] = {-1, -1}, resident = q->flags & RESIDENT;
  *p = (struct started){-1, -1, -1, -1, -1, -1, 0, 0};
  if (in < 0 || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) return 0;
  if (resident && (pipe2(go, O_CLOEXEC) || pipe2(done, O_CLOEXEC))) return 0;
#ifdef ZYGOTE
  p->pid = fork();
#else
  p->pid = vfork();
#endif
  if (p->pid == 0) {
    become_the_program(q, (int[]){in, out[1], err[1]}, go[0], done[1]);
#ifdef ZYGOTE
    prctl(PR_SET_DUMPABLE, 1); /* without it the program could not open its own /proc/self/fd */
    return 1;
#else
    syscall(SYS_execve, program[0], program, environ, 0L, password[0], password[1]);
    _exit(127);
#endif
  }
  close(out[1]), close(err[1]);
  p->out = out[0], p->err = err[0], p->go = go[1], p->done = done[0]; /* our copy of go[0] spares us a SIGPIPE */
  int ours[4] = {p->out, p->err, p->go, p->done};
  for (int i = 0; i < (resident ? 4 : 2); i++) fcntl(ours[i], F_SETFL, O_NONBLOCK);
  p->pidfd = p->pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, p->pid, 0);
  return 0;
}

/* Reads what the program prints until it ends, has done a test or meets a limit. Returns -1 when the host is gone. */
static int watch(const struct request *q, struct started *p, uint64_t start, struct reply *r, struct buffer *out,
                 struct buffer *err, uint64_t totals[2]) {
  struct pollfd watched[6] = {{p->pidfd, POLLIN, 0}, {p->out, POLLIN, 0},  {p->err, POLLIN, 0},
                              {ctl, 0, 0},           {p->done, POLLIN, 0}, {attempts_fd, POLLIN, 0}};
  uint64_t tick = start + q->tick_ms * 1000ull, looked = start, excused_us = 0, t = start;
  static struct thread threads[MAX_THREADS];
  int host_gone = 0, n_threads = 0;
  uint64_t own = own_wait();
  p->cpu_mark = 0;
  while (!r->flags && !host_gone) {
    int n = poll(watched, 6, tick > t ? (int)((tick - t + 999) / 1000) : 0);
    if (n < 0) continue;
    for (int i = 1; i <= 2; i++)
      if (watched[i].revents && drain(watched[i].fd, i == 1 ? out : err, i == 1 ? q->output_max : STDERR_KEPT, &totals[i - 1]) == 0)
        watched[i].fd = -1;
    if (totals[0] > q->output_max || totals[1] > q->output_max) r->flags |= OUTPUT;
    if (watched[5].revents & POLLIN) refuse_attempt(r);
    if (watched[0].revents || watched[4].revents) break;
    if (watched[3].revents) host_gone = 1;
    t = now_us();
    if (t < tick) continue;
    r->flags |= over_a_limit(q, p->cpu_before_us, &p->cpu_mark);
    tick = t + q->tick_ms * 1000ull;
    if (r->flags || t < looked + LOOK_US) continue; /* most programs have ended before they need a look at their threads */
    uint64_t own_before = own;
    own = own_wait();
    excused_us += waited_for_a_core_us(threads, &n_threads, t - looked, own - own_before);
    looked = t;
    if (t - start >= excused_us + q->wall_ms * 1000ull) r->flags |= WALL;
    else if (t - start >= q->patience_ms * 1000ull) r->flags |= 2 * excused_us > t - start ? STARVED : WALL;
  }
  r->wall_us = now_us() - start;
  return host_gone ? -1 : 0;
}

/* Takes what is in the pipes by now, then looks at what was used. It does not wait for the end of file: a write end may
 * live on in a message between dead sockets until the kernel collects it. */
static void conclude(const struct request *q, const struct started *p, struct reply *r, struct buffer *out,
                     struct buffer *err, uint64_t totals[2]) {
  while (totals[0] <= q->output_max && drain(p->out, out, q->output_max, &totals[0]) > 0) continue;
  while (totals[1] <= q->output_max && drain(p->err, err, STDERR_KEPT, &totals[1]) > 0) continue;
  if (totals[0] > q->output_max || totals[1] > q->output_max) r->flags |= OUTPUT;
  int64_t counted = p->cpu_mark ? sandbox_cpu_us() - p->cpu_mark : 0;
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

/* One test. Returns 1 in the child of a zygote, else 0 with the reply and the streams filled in; -1: the host is gone. */
static int run(const struct request *q, const char *data, struct reply *r, struct buffer *out, struct buffer *err) {
  int in = stdin_file(data, q->data_len);
  uint64_t began = now_us(), totals[2] = {0, 0};
  struct started p;
  if (start(q, in, &p)) return 1;
  close(in);
  if (p.pidfd < 0) r->flags = FAILED;
  int host_gone = watch(q, &p, began, r, out, err, totals);
  reap(&p, r->flags || host_gone, r);
  conclude(q, &p, r, out, err, totals);
  close(p.out), close(p.err), close(p.pidfd);
  return host_gone;
}

/* CPU time of a living process, to the microsecond. */
static uint64_t living_cpu_us(pid_t pid) {
  clockid_t clock;
  struct timespec t;
  if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t)) return 0;
  return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

/* One test in a program that stays for the next: it gets a number on 3 when its input lies behind 0, and gives it back on
 * 4 when it has done the test (native/Loop.java). Unless it does that, within its limits, and is alone in the sandbox
 * then, this test and all that follow have FAILED: the host runs them again, each in a process of its own. */
static int run_resident(const struct request *q, const char *data, struct reply *r, struct buffer *out, struct buffer *err) {
  static struct started p;
  static int in, lost;
  uint64_t began = now_us(), totals[2] = {0, 0}, number, said[2];
  if (lost) r->flags = FAILED;
  if (lost) return 0;
  if (!p.pid) {
    in = stdin_file(data, q->data_len);
    if (start(q, in, &p)) return 1;
  } else if (lseek(in, 0, SEEK_SET) || ftruncate(in, 0) || fill(in, data, q->data_len)) {
    r->flags = FAILED;
  }
  if (p.pidfd < 0 || getrandom(&number, sizeof number, 0) != sizeof number) r->flags = FAILED;
  if (!r->flags && write(p.go, &number, sizeof number) != sizeof number) r->flags = FAILED;
  int host_gone = watch(q, &p, began, r, out, err, totals);
  if (r->flags || host_gone || read(p.done, said, sizeof said) != sizeof number || said[0] != number) lost = 1;
  struct usage u = measure(0, 0);
  uint64_t cpu_now_us = living_cpu_us(p.pid) + u.waited_for_us;
  r->cpu_us = cpu_now_us - p.cpu_before_us, r->rss_kb = (uint32_t)u.rss_kb;
  p.cpu_before_us = cpu_now_us;
  conclude(q, &p, r, out, err, totals);
  if (lost || r->flags || u.processes != 1) {
    lost = 1, r->flags |= FAILED;
    reap(&p, 1, r);
  }
  return host_gone;
}

/* Serves requests until the host closes the socket. Returns 1 in a zygote's child, 0 at the end. */
int serve(void) {
  static struct buffer data, out, err;
  struct request q;
  char path[4096];
  while (!receive(&q, sizeof q)) {
    struct reply r = {0};
    if (q.path_len >= sizeof path || receive(path, q.path_len)) return 0;
    path[q.path_len] = 0;
    reset(&data), reset(&out), reset(&err);
    if (reserve(&data, q.data_len ? q.data_len : 1) || receive(data.data, q.data_len)) return 0;
    if (q.flags & WIPE) {
      if (!(q.flags & RESIDENT) && collect_sockets()) return 0; /* a resident program may have some, as Java's file channels do */
      wipe();
    }
    if (q.op == RUN) {
      int done = (q.flags & RESIDENT ? run_resident : run)(&q, data.data, &r, &out, &err);
      if (done) return done > 0;
    } else if (q.op == PUT) {
      if (put_file(path, data.data, q.data_len)) r.flags = FAILED;
    } else if (q.op == GET) {
      int left = MAX_FETCHED;
      if (get_files(path, q.output_max, &out, &left)) r.flags = FAILED, out.len = 0;
      r.out_len = (uint32_t)out.len;
    }
    if (reply_with(&r, &out, &err)) return 0;
  }
  return 0;
}

/* Sets this process up: the filter from `filter_fd` applies to it and to all that it starts, and with `sealed` what it
 * starts can start nothing else. Says hello when ready. */
int prepare(int ctl_fd, int filter_fd, int oom_counter_fd, int cpu_counter_fd, int max_processes, int stack_mb, int file_mb,
            int sealed) {
  static struct sock_filter code[4096];
  ctl = ctl_fd;
  oom_fd = oom_counter_fd, cpu_fd = cpu_counter_fd;
  fcntl(ctl, F_SETFD, FD_CLOEXEC);
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
  limit(RLIMIT_STACK, (rlim_t)stack_mb << 20);
  limit(RLIMIT_FSIZE, (rlim_t)file_mb << 20);
  limit(RLIMIT_MSGQUEUE, 0);
  limit(RLIMIT_MEMLOCK, 1u << 20);
  return send(ctl, "!", 1, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

#ifndef ZYGOTE
int main(int argc, char **argv) {
  int n[8];
  if (argc < 10) return 2;
  for (int i = 0; i < 8; i++) n[i] = atoi(argv[i + 1]);
  program = argv + 9;
  if (prepare(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7])) {
    perror("runner");
    return 1;
  }
  serve();
  kill(-1, SIGKILL); /* what a resident program used counts once it has been waited for */
  while (wait(NULL) > 0) continue;
  return 0;
}
#endif
