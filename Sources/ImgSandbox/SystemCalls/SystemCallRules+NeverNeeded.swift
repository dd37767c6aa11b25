import Glibc

extension SystemCallRules {
  /// Refuses what no process of this program needs: the memory of other processes, the machine's
  /// settings, and parts of the kernel in which errors were often found.
  mutating func addNeverNeeded() {
    add(
      .fail(EPERM),
      [
        // Other processes.
        "kcmp", "migrate_pages", "move_pages", "perf_event_open", "pidfd_getfd",
        "process_madvise", "process_vm_readv", "process_vm_writev", "ptrace",
        // File systems.
        "fanotify_init", "fsconfig", "fsmount", "fsopen", "fspick", "lookup_dcookie", "mount",
        "mount_setattr", "move_mount", "name_to_handle_at", "open_by_handle_at", "open_tree",
        "pivot_root", "quotactl", "quotactl_fd", "swapoff", "swapon", "umount", "umount2",
        // The kernel and the machine.
        "_sysctl", "acct", "adjtimex", "bpf", "clock_adjtime", "clock_settime", "create_module",
        "delete_module", "finit_module", "get_kernel_syms", "init_module", "ioperm", "iopl",
        "kexec_file_load", "kexec_load", "modify_ldt", "nfsservctl", "personality",
        "query_module", "reboot", "setdomainname", "sethostname", "settimeofday", "stime",
        "syslog", "uselib", "userfaultfd", "ustat", "vhangup", "vm86", "vm86old",
        // Keyrings.
        "add_key", "keyctl", "request_key",
        // Asynchronous input and output.
        "io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup", "io_submit",
        "io_uring_enter", "io_uring_register", "io_uring_setup",
      ])
    // Types characters into the terminal of the shell.
    add(.fail(EPERM), "ioctl", where: .equals(CInt(TIOCSTI), argument: 1))
  }
}
