// verdicts: AC
// why: calls that no program needs and exploits do; each must stop at the filter (ENOSYS or EPERM), not in the kernel behind it
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main() {
  const struct { const char *name; long number; } calls[] = {
      {"io_uring_setup", 425}, {"io_uring_enter", 426}, {"io_uring_register", 427}, {"bpf", SYS_bpf}, {"keyctl", SYS_keyctl},
      {"add_key", SYS_add_key}, {"request_key", SYS_request_key}, {"userfaultfd", SYS_userfaultfd},
      {"perf_event_open", SYS_perf_event_open}, {"kexec_load", SYS_kexec_load}, {"kexec_file_load", SYS_kexec_file_load},
      {"init_module", SYS_init_module}, {"finit_module", SYS_finit_module}, {"delete_module", SYS_delete_module},
      {"syslog", SYS_syslog}, {"acct", SYS_acct}, {"swapon", SYS_swapon}, {"swapoff", SYS_swapoff}, {"reboot", SYS_reboot},
      {"sethostname", SYS_sethostname}, {"setdomainname", SYS_setdomainname}, {"quotactl", SYS_quotactl},
      {"quotactl_fd", 443}, {"iopl", SYS_iopl}, {"ioperm", SYS_ioperm}, {"personality", SYS_personality},
      {"modify_ldt", SYS_modify_ldt}, {"fanotify_init", SYS_fanotify_init}, {"lookup_dcookie", SYS_lookup_dcookie},
      {"mbind", SYS_mbind}, {"set_mempolicy", SYS_set_mempolicy}, {"vhangup", SYS_vhangup}, {"kcmp", SYS_kcmp},
      {"pidfd_getfd", SYS_pidfd_getfd}, {"memfd_secret", 447}, {"seccomp", SYS_seccomp}, {"setns", SYS_setns},
      {"unshare", SYS_unshare}, {"ptrace", SYS_ptrace}, {"process_vm_readv", SYS_process_vm_readv},
      {"process_vm_writev", SYS_process_vm_writev}, {"mount", SYS_mount}, {"name_to_handle_at", SYS_name_to_handle_at},
      {"open_by_handle_at", SYS_open_by_handle_at}, {"clock_settime", SYS_clock_settime}, {"adjtimex", SYS_adjtimex},
      {"migrate_pages", SYS_migrate_pages}, {"move_pages", SYS_move_pages}, {"remap_file_pages", SYS_remap_file_pages},
      {"io_setup", SYS_io_setup}, {"mq_open", SYS_mq_open}, {"shmget", SYS_shmget}, {"semget", SYS_semget},
      {"msgget", SYS_msgget}, {"uselib", SYS_uselib}, {"_sysctl", SYS__sysctl}, {"nfsservctl", SYS_nfsservctl},
      {"get_kernel_syms", SYS_get_kernel_syms}, {"query_module", SYS_query_module}, {"setuid", SYS_setuid},
      {"setgid", SYS_setgid}, {"setgroups", SYS_setgroups}, {"capset", SYS_capset}, {"chroot", SYS_chroot},
      {"sched_setscheduler", SYS_sched_setscheduler}, {"sched_setattr", SYS_sched_setattr}, {"setpriority", SYS_setpriority},
      {"ioprio_set", SYS_ioprio_set}, {"cachestat", 451}, {"listmount", 458}, {"statmount", 457}, {"lsm_set_self_attr", 460},
      {"pkey_alloc", SYS_pkey_alloc}, {"landlock_create_ruleset", 444}, {"setxattr", SYS_setxattr}, {"open_tree_attr", 467},
      {"file_setattr", 469}, {"an unknown call", 511}};
  bool got = false;
  for (auto &call : calls) {
    long result = syscall(call.number, -1l, 0l, 0l, 0l, 0l, 0l);
    if (result >= 0 || (errno != ENOSYS && errno != EPERM)) got = true, printf("%s: %ld, errno %d\n", call.name, result, errno);
  }
  if (!got) puts("contained");
}
