// verdicts: AC
// why: every netlink protocol, and socket numbers with their upper half set, which a 64-bit comparison would let through
#include <initializer_list>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int main() {
  bool got = false;
  for (long protocol = 0; protocol < 32; protocol++)
    for (unsigned long upper : {0ul, 1ul << 32, ~0ul << 32})
      for (long family : {AF_NETLINK, AF_PACKET, AF_VSOCK, AF_INET, AF_ALG})
        if (syscall(SYS_socket, upper | family, SOCK_RAW, protocol) >= 0) got = true, printf("family %ld\n", family);
  if (!got) puts("contained");
}
