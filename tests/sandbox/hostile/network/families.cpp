// verdicts: AC
// why: packet, netlink, vsock, bluetooth, crypto, xdp and all other families: only unix sockets may exist
#include <initializer_list>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int main() {
  bool got = false;
  for (int family = 0; family < 64; family++)
    for (int kind : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM, SOCK_PACKET}) {
      int ends[2];
      if (family == AF_UNIX) continue;
      if (socket(family, kind, 0) >= 0 || syscall(SYS_socket, family | 1ul << 32, kind, 0) >= 0)
        got = true, printf("family %d kind %d\n", family, kind);
      if (socketpair(family, kind, 0, ends) == 0) got = true, printf("pair of family %d kind %d\n", family, kind);
    }
  if (!got) puts("contained");
}
