// verdicts: AC
// why: descriptors parked in unix sockets' messages, cycles of sockets included, escape the limit on open files; refused before 20000
// time_limit_s: 2
// tests: 2
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool park(int through, int fd) {
  char control[CMSG_SPACE(sizeof fd)] = {}, byte = 0;
  iovec part = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &part, message.msg_iovlen = 1, message.msg_control = control, message.msg_controllen = sizeof control;
  cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(head), &fd, sizeof fd);
  return sendmsg(through, &message, MSG_DONTWAIT) == 1;
}

int main() {
  int parked = 0;
  for (int ends[2]; parked < 20000 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0;) {
    int before = parked;
    while (parked < 20000 && park(ends[0], ends[1])) parked++;
    close(ends[0]), close(ends[1]);
    if (parked == before) break;
  }
  if (parked < 20000) puts("contained");
  else printf("%d descriptors in flight\n", parked);
}
