// The calls by which a process gives up rights, for which glibc has no functions. Each function keeps the
// contract of its call: -1 and errno on failure.

#ifndef IMG_CLINUX_SANDBOX_H
#define IMG_CLINUX_SANDBOX_H

#include <errno.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/fs.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <unistd.h>

#pragma clang assume_nonnull begin

// Landlock (landlock(7)). The constants and structures are those of Linux 6.12 and later, because
// <linux/landlock.h> of a distribution can be older than the kernel that runs.

enum {
  IMG_LANDLOCK_EXECUTE = 1 << 0,
  IMG_LANDLOCK_WRITE_FILE = 1 << 1,
  IMG_LANDLOCK_READ_FILE = 1 << 2,
  IMG_LANDLOCK_READ_DIR = 1 << 3,
  IMG_LANDLOCK_REMOVE_DIR = 1 << 4,
  IMG_LANDLOCK_REMOVE_FILE = 1 << 5,
  IMG_LANDLOCK_MAKE_CHAR = 1 << 6,
  IMG_LANDLOCK_MAKE_DIR = 1 << 7,
  IMG_LANDLOCK_MAKE_REG = 1 << 8,
  IMG_LANDLOCK_MAKE_SOCK = 1 << 9,
  IMG_LANDLOCK_MAKE_FIFO = 1 << 10,
  IMG_LANDLOCK_MAKE_BLOCK = 1 << 11,
  IMG_LANDLOCK_MAKE_SYM = 1 << 12,
  /// Since version 2.
  IMG_LANDLOCK_REFER = 1 << 13,
  /// Since version 3.
  IMG_LANDLOCK_TRUNCATE = 1 << 14,
  /// Since version 5.
  IMG_LANDLOCK_IOCTL_DEV = 1 << 15,

  /// Since version 4.
  IMG_LANDLOCK_BIND_TCP = 1 << 0,
  IMG_LANDLOCK_CONNECT_TCP = 1 << 1,

  /// Since version 6.
  IMG_LANDLOCK_SCOPE_ABSTRACT_SOCKET = 1 << 0,
  IMG_LANDLOCK_SCOPE_SIGNAL = 1 << 1,
};

/// struct landlock_ruleset_attr. A kernel accepts a shorter one, and a longer one whose rest is zero.
struct img_landlock_rights {
  uint64_t files;
  uint64_t network;
  uint64_t scopes;
};

/// The version of the kernel's Landlock, at least 1.
static inline int img_landlock_version(void) {
  return (int)syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, 1u);
}

/// Creates a ruleset that denies `rights`; returns its descriptor, which is close-on-exec.
static inline int img_landlock_create(const struct img_landlock_rights *rights) {
  return (int)syscall(SYS_landlock_create_ruleset, rights, sizeof *rights, 0u);
}

/// Adds an exception for everything below an open file or directory.
static inline int img_landlock_allow_beneath(int ruleset, int parent, uint64_t files) {
  struct {
    uint64_t allowed;
    int32_t parent;
  } __attribute__((packed)) rule = {files, parent};
  enum { path_beneath = 1 };
  return (int)syscall(SYS_landlock_add_rule, ruleset, path_beneath, &rule, 0u);
}

/// Restricts the calling thread, and threads and processes that it creates later.
static inline int img_landlock_restrict(int ruleset) {
  return (int)syscall(SYS_landlock_restrict_self, ruleset, 0u);
}

// Privileges (prctl(2), capabilities(7), namespaces(7))

static inline int img_forbid_new_privileges(void) {
  return prctl(PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 0ul);
}

/// 1 or 0.
static inline int img_has_no_new_privileges(void) {
  return prctl(PR_GET_NO_NEW_PRIVS, 0ul, 0ul, 0ul, 0ul);
}

/// 0 if the process can be neither dumped nor traced.
static inline int img_is_dumpable(void) { return prctl(PR_GET_DUMPABLE); }

enum {
  // <linux/sched.h>
  IMG_CLONE_THREAD = 0x00010000,
  IMG_CLONE_NEWIPC = 0x08000000,
  IMG_CLONE_NEWUSER = 0x10000000,
  IMG_CLONE_NEWNET = 0x40000000,
};

static inline int img_unshare(int namespaces) { return (int)syscall(SYS_unshare, namespaces); }

enum {
  /// The capabilities that reach files in spite of their permissions.
  IMG_CAPABILITIES_OF_ACCESS = 1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH,
  /// The capabilities that only concern permissions of files.
  IMG_CAPABILITIES_OF_FILES =
      IMG_CAPABILITIES_OF_ACCESS | 1 << CAP_CHOWN | 1 << CAP_FOWNER | 1 << CAP_FSETID,
};

/// Gives up all capabilities but those of a mask of numbers below 32.
static inline int img_keep_capabilities(uint32_t kept) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, data) != 0) return -1;
  for (int word = 0; word < _LINUX_CAPABILITY_U32S_3; word += 1) {
    uint32_t mask = word == 0 ? kept : 0;
    data[word].permitted &= mask;
    data[word].effective &= mask;
    data[word].inheritable = 0;
  }
  return (int)syscall(SYS_capset, &header, data);
}

/// Closes the descriptors from `first` to `last`, both included. Numbers without a descriptor are no error.
static inline int img_close_range(unsigned int first, unsigned int last) {
  return (int)syscall(SYS_close_range, first, last, 0u);
}

// System calls of a filter (seccomp(2))

enum {
  // <fcntl.h> declares these two only under _GNU_SOURCE.
  IMG_OPEN_PATH = 010000000,
  IMG_AT_EMPTY_PATH = 0x1000,
  // <linux/netlink.h>
  IMG_NETLINK_ROUTE = 0,
};

static const unsigned int IMG_FS_IOC_SETFLAGS = FS_IOC_SETFLAGS;
static const unsigned int IMG_FS_IOC_FSSETXATTR = FS_IOC_FSSETXATTR;

/// The result of newfstatat, which asks for the state of a file by its name, or of an open file by an
/// empty name: -errno on failure. It answers the second kind and refuses the first.
static inline long img_answer_newfstatat(long file, const char *name, long status, long flags) {
  if ((flags & IMG_AT_EMPTY_PATH) == 0 || *name != 0) return -EACCES;
  return syscall(SYS_fstat, file, status) == 0 ? 0 : -errno;
}

/// Handles SIGSYS. The registers hold the arguments of the call, and then its result.
static inline void img_answer_trapped_call(
    int signal, siginfo_t *information, void *_Nullable context) {
  (void)signal;
  int code = errno;
  mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
  long result = -ENOSYS;
#if defined(__x86_64__)
  // The positions of RDI, RSI, RDX, R10 and RAX in <sys/ucontext.h>, which names them only under
  // _GNU_SOURCE.
  enum { rdi = 8, rsi = 9, rdx = 12, r10 = 2, rax = 13 };
  greg_t *registers = machine->gregs;
  if (information->si_syscall == SYS_newfstatat)
    result = img_answer_newfstatat(
        registers[rdi], (const char *)registers[rsi], registers[rdx], registers[r10]);
  registers[rax] = result;
#elif defined(__aarch64__)
  unsigned long long *registers = machine->regs;
  if (information->si_syscall == SYS_newfstatat)
    result = img_answer_newfstatat(
        (long)registers[0], (const char *)registers[1], (long)registers[2], (long)registers[3]);
  registers[0] = (unsigned long long)result;
#else
#error "the registers of a system call are unknown for this architecture"
#endif
  errno = code;
}

/// From now on, calls that a filter traps (SECCOMP_RET_TRAP) are answered in this process.
static inline int img_answer_trapped_calls(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = img_answer_trapped_call;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  return sigaction(SIGSYS, &action, NULL);
}

#pragma clang assume_nonnull end

#endif
