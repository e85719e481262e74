// verdicts: AC
// why: shared memory, semaphores and queues with keys, which outlive every process
// tests: 2
// requests: 2
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

int main() {
  const key_t key = 0x4d614452;
  bool got = false;
  if (shmget(key, 0, 0) >= 0 || semget(key, 0, 0) >= 0 || msgget(key, 0) >= 0) got = true, puts("by key");
  if (shm_open("/kept", O_RDONLY, 0) >= 0 || syscall(SYS_mq_open, "kept", O_RDONLY, 0, nullptr) >= 0) got = true, puts("by name");
  void *memory = shmat(shmget(key, 4096, IPC_CREAT | 0666), nullptr, 0);
  if (memory != (void *)-1) strcpy((char *)memory, "kept");
  semget(key, 1, IPC_CREAT | 0666), msgget(key, IPC_CREAT | 0666);
  shm_open("/kept", O_RDWR | O_CREAT, 0666);
  syscall(SYS_mq_open, "kept", O_RDWR | O_CREAT, 0666, nullptr);
  if (!got) puts("contained");
}
