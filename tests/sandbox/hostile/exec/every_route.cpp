// verdicts: AC
// tried_exec: yes
// time_limit_s: 2
// why: starts a shell, itself and what it wrote in every way that C knows, and guesses at registers that execve ignores
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char **environ;
static int got = 0;

template <class Attempt> void in_child(Attempt attempt) {
  pid_t pid = fork();
  if (pid == 0) attempt(), _exit(42);
  int status;
  waitpid(pid, &status, 0);
  got += !(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

int main() {
  int script = open("/tmp/script", O_CREAT | O_WRONLY, 0755);
  dprintf(script, "#!/bin/sh\necho started\n"), close(script);
  for (const char *path : {"/bin/sh", "/usr/bin/python3", "/proc/self/exe", "/box/main", "/tmp/script", "/sandbox/runner",
                           "/lib64/ld-linux-x86-64.so.2"}) {
    char *argv[] = {(char *)path, (char *)"-c", (char *)"echo started", nullptr};
    pid_t pid;
    if (!posix_spawn(&pid, path, nullptr, nullptr, argv, environ)) got++;
    in_child([&] { execvp(path, argv); });
    in_child([&] { std::thread([&] { execve(path, argv, environ); }).join(); });
    in_child([&] { syscall(SYS_execve, path, argv, environ, 0L, 0L, 0L); });
    in_child([&] { syscall(SYS_execveat, AT_FDCWD, path, argv, environ, 0); });
    in_child([&] { fexecve(open(path, O_RDONLY | O_CLOEXEC), argv, environ); });
    in_child([&] { fexecve(open(path, O_PATH | O_CLOEXEC), argv, environ); });
    for (long guess = -50; guess < 50; guess++) syscall(SYS_execve, path, argv, environ, 0L, guess, guess);
    if (pid = vfork(); pid == 0) execv(path, argv), _exit(42);
    int status;
    waitpid(pid, &status, 0);
    got += !(WIFEXITED(status) && WEXITSTATUS(status) == 42);
  }
  got += std::system("true") == 0;
  if (FILE *pipe = popen("echo started", "r")) got += fgetc(pipe) != EOF, pclose(pipe);
  puts(got ? "started something" : "contained");
}
