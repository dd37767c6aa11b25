// The parts of Linux that Swift's Glibc module does not import: omitted calls, variadic calls, packed
// unions, macros, and atomic access to shared memory. Each function keeps the contract of its call:
// -1 and errno on failure.

#ifndef IMG_CLINUX_SHIM_H
#define IMG_CLINUX_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma clang assume_nonnull begin

// The headers declare the following only under _GNU_SOURCE. This file cannot define that macro: it
// changes types that the Glibc module has already imported, and the types would no longer match.

extern char *_Nullable *_Nonnull environ;

const char *_Nullable strerrorname_np(int code);
const char *_Nullable strerrordesc_np(int code);
const char *_Nullable sigabbrev_np(int signal);
int accept4(
    int listener, struct sockaddr *_Nullable address, socklen_t *_Nullable size, int flags);
int memfd_create(const char *name, unsigned int flags);
int strverscmp(const char *left, const char *right);
int pipe2(int *ends, int flags);
int pthread_setname_np(pthread_t thread, const char *name);
int pthread_attr_setsigmask_np(pthread_attr_t *attributes, const sigset_t *signals);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
int fallocate(int descriptor, int mode, off_t offset, off_t length);
int renameat2(
    int directory, const char *path, int other_directory, const char *other, unsigned int flags);

enum {
  // <linux/falloc.h>
  IMG_FALLOC_FL_KEEP_SIZE = 0x01,
  IMG_FALLOC_FL_PUNCH_HOLE = 0x02,
  // <linux/memfd.h>
  IMG_MFD_CLOEXEC = 0x0001,
  IMG_MFD_ALLOW_SEALING = 0x0002,
  // <linux/fcntl.h>
  IMG_F_ADD_SEALS = 1024 + 9,
  IMG_F_GET_SEALS = 1024 + 10,
  IMG_F_SEAL_SEAL = 0x0001,
  IMG_F_SEAL_SHRINK = 0x0002,
  IMG_F_SEAL_GROW = 0x0004,
  IMG_F_SEAL_WRITE = 0x0008,
  IMG_F_SEAL_FUTURE_WRITE = 0x0010,
  /// With these seals no process can change the bytes or the size.
  IMG_F_SEAL_CONTENTS = IMG_F_SEAL_SHRINK | IMG_F_SEAL_GROW | IMG_F_SEAL_WRITE,
  // <asm-generic/fcntl.h>
  IMG_F_OFD_GETLK = 36,
  IMG_F_OFD_SETLK = 37,
  IMG_F_OFD_SETLKW = 38,
  IMG_O_PATH = 010000000,
  /// With O_DIRECTORY, kernels that do not support the flag refuse it (open(2)).
  IMG_O_TMPFILE = 020000000 | O_DIRECTORY,
  // <linux/fs.h>
  IMG_RENAME_EXCHANGE = 1 << 1,
  // <spawn.h>
  IMG_POSIX_SPAWN_SETSID = 0x80,
};

/// The value of SO_PEERCRED: struct ucred of unix(7).
struct img_peer_credentials {
  pid_t process;
  uid_t user;
  gid_t group;
};

// Texts

/// The C name of an errno value, such as "ENOENT"; NULL for an unknown value.
static inline const char *_Nullable img_error_name(int code) { return strerrorname_np(code); }

/// The English text for an errno value. Unlike strerror, it is thread-safe.
static inline const char *_Nullable img_error_text(int code) { return strerrordesc_np(code); }

/// The C name of a signal without "SIG", such as "KILL"; NULL for an unknown signal.
static inline const char *_Nullable img_signal_name(int signal) { return sigabbrev_np(signal); }

// epoll(7): an event is a packed structure with a union. These functions use scalars instead.

static inline int img_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static inline int img_epoll_control(
    int epoll, int operation, int descriptor, bool read, bool write, uint64_t token) {
  struct epoll_event event = {0};
  event.events = (read ? EPOLLIN : 0u) | (write ? EPOLLOUT : 0u);
  event.data.u64 = token;
  return epoll_ctl(epoll, operation, descriptor, &event);
}

/// An event of epoll.
struct img_readiness {
  uint64_t token;
  bool is_readable;
  bool is_writable;
  bool is_hung_up;
};

enum { IMG_MAXIMUM_EVENT_COUNT = 256 };

/// epoll_wait into an array of IMG_MAXIMUM_EVENT_COUNT.
static inline int img_epoll_wait(int epoll, struct img_readiness *result, int milliseconds) {
  struct epoll_event events[IMG_MAXIMUM_EVENT_COUNT];
  int count = epoll_wait(epoll, events, IMG_MAXIMUM_EVENT_COUNT, milliseconds);
  for (int index = 0; index < count; index += 1) {
    result[index].token = events[index].data.u64;
    result[index].is_readable = events[index].events & EPOLLIN;
    result[index].is_writable = events[index].events & EPOLLOUT;
    result[index].is_hung_up = events[index].events & (EPOLLHUP | EPOLLERR);
  }
  return count;
}

// Other descriptors for events and memory

static inline int img_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline int img_signalfd(const sigset_t *signals) {
  return signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static inline int img_pidfd_open(pid_t process) { return pidfd_open(process, 0); }

static inline int img_pidfd_send_signal(int pidfd, int signal) {
  return pidfd_send_signal(pidfd, signal, NULL, 0);
}

/// Seals the size of a memory file permanently, so no process that maps it can remove pages from
/// another. With `contents`, only mappings that exist already can write to it.
static inline int img_seal_size(int descriptor, bool contents) {
  return fcntl(
      descriptor, IMG_F_ADD_SEALS,
      IMG_F_SEAL_SHRINK | IMG_F_SEAL_GROW | (contents ? IMG_F_SEAL_FUTURE_WRITE : 0) |
          IMG_F_SEAL_SEAL);
}

/// Creates an empty anonymous memory file that can be sealed.
static inline int img_memory_file(const char *name) {
  return memfd_create(name, IMG_MFD_CLOEXEC | IMG_MFD_ALLOW_SEALING);
}

/// Seals the contents of the file permanently.
static inline int img_seal_contents(int descriptor) {
  return fcntl(descriptor, IMG_F_ADD_SEALS, IMG_F_SEAL_CONTENTS | IMG_F_SEAL_SEAL);
}

/// Whether the contents of the file are sealed: 1 or 0; -1 and EINVAL for a file without seals.
static inline int img_has_sealed_contents(int descriptor) {
  int seals = fcntl(descriptor, IMG_F_GET_SEALS);
  return seals < 0 ? -1 : (seals & IMG_F_SEAL_CONTENTS) == IMG_F_SEAL_CONTENTS;
}

/// Maps a file shared, for reading and writing. Returns 0 on failure.
static inline uintptr_t img_map_shared(int descriptor, size_t byte_count) {
  void *address = mmap(NULL, byte_count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return address == MAP_FAILED ? 0 : (uintptr_t)address;
}

/// Maps a file shared, for reading. Returns 0 on failure.
static inline uintptr_t img_map_readable(int descriptor, size_t byte_count) {
  void *address = mmap(NULL, byte_count, PROT_READ, MAP_SHARED, descriptor, 0);
  return address == MAP_FAILED ? 0 : (uintptr_t)address;
}

static inline int img_unmap(uintptr_t address, size_t byte_count) {
  return munmap((void *)address, byte_count);
}

static inline uint64_t img_word_load(uintptr_t base, size_t index) {
  return atomic_load_explicit((_Atomic(uint64_t) *)base + index, memory_order_acquire);
}

static inline void img_word_store(uintptr_t base, size_t index, uint64_t value) {
  atomic_store_explicit((_Atomic(uint64_t) *)base + index, value, memory_order_release);
}

/// Stores a word if it has the expected value.
static inline bool img_word_replace(
    uintptr_t base, size_t index, uint64_t expected, uint64_t value) {
  return atomic_compare_exchange_strong_explicit(
      (_Atomic(uint64_t) *)base + index, &expected, value, memory_order_acq_rel,
      memory_order_acquire);
}

/// For counters: it does not order other accesses.
static inline void img_word_add(uintptr_t base, size_t index, uint64_t amount) {
  atomic_fetch_add_explicit((_Atomic(uint64_t) *)base + index, amount, memory_order_relaxed);
}

static inline uint8_t img_byte_load(uintptr_t base, size_t index) {
  return atomic_load_explicit((_Atomic(uint8_t) *)base + index, memory_order_relaxed);
}

static inline void img_byte_store(uintptr_t base, size_t index, uint8_t value) {
  atomic_store_explicit((_Atomic(uint8_t) *)base + index, value, memory_order_relaxed);
}

// Pipes

/// Makes a pipe. Each end is non-blocking and close-on-exec.
static inline int img_pipe(int *reader, int *writer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
  *reader = ends[0];
  *writer = ends[1];
  return 0;
}

/// Copies bytes of a pipe into another, and leaves them in the first (tee(2)). Waits for them.
static inline ssize_t img_tee(int from, int to, size_t count) { return tee(from, to, count, 0); }

// Unix sockets

static inline int img_unix_socket(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

static inline int img_unix_socket_pair(int *first, int *second) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  *first = ends[0];
  *second = ends[1];
  return 0;
}

/// Makes the address of a socket file. Refuses an empty path with ENOENT, because it would name an
/// abstract socket (unix(7)), which no file mode protects.
static inline int img_unix_address(const char *path, struct sockaddr_un *address) {
  size_t length = strlen(path);
  if (length == 0 || length >= sizeof address->sun_path) {
    errno = length == 0 ? ENOENT : ENAMETOOLONG;
    return -1;
  }
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path, path, length);
  return 0;
}

static inline int img_datagram_socket(void) {
  return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/// Sends a datagram to an address in the form of NOTIFY_SOCKET: a path, or an abstract name with "@"
/// in place of its first zero byte (sd_notify(3), unix(7)).
static inline ssize_t img_send_datagram(
    int socket, const char *name, const void *_Nullable bytes, size_t count) {
  struct sockaddr_un address;
  if (name[0] != '/' && name[0] != '@') {
    errno = EINVAL;
    return -1;
  }
  if (img_unix_address(name, &address) != 0) return -1;
  if (name[0] == '@') address.sun_path[0] = 0;
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
  return sendto(
      socket, bytes, count, MSG_NOSIGNAL, (const struct sockaddr *)&address, size);
}

static inline int img_unix_bind(int descriptor, const char *path) {
  struct sockaddr_un address;
  if (img_unix_address(path, &address) != 0) return -1;
  return bind(descriptor, (const struct sockaddr *)&address, sizeof address);
}

static inline int img_unix_connect(int descriptor, const char *path) {
  struct sockaddr_un address;
  if (img_unix_address(path, &address) != 0) return -1;
  return connect(descriptor, (const struct sockaddr *)&address, sizeof address);
}

static inline int img_accept(int listener) {
  return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static inline int img_get_peer_credentials(int descriptor, struct img_peer_credentials *result) {
  socklen_t size = sizeof *result;
  return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, result, &size);
}

static inline ssize_t img_send(int descriptor, const void *_Nullable bytes, size_t count) {
  return send(descriptor, bytes, count, MSG_NOSIGNAL);
}

/// The control buffer for one descriptor, aligned as cmsg(3) requires.
union img_control {
  struct cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

/// Sends bytes with a descriptor, which is attached to the first byte (unix(7), SCM_RIGHTS).
static inline ssize_t img_send_passing(
    int socket, const void *_Nullable bytes, size_t count, int passed) {
  union img_control control;
  memset(&control, 0, sizeof control);
  struct iovec part = {(void *)bytes, count};
  struct msghdr message = {0};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof passed);
  memcpy(CMSG_DATA(header), &passed, sizeof passed);
  return sendmsg(socket, &message, MSG_NOSIGNAL);
}

/// The descriptors that arrived with bytes.
struct img_passed {
  /// The descriptor; -1 unless exactly one arrived.
  int descriptor;
  /// The number of descriptors that arrived. If there were several, all are closed.
  int count;
  /// Whether the kernel dropped descriptors: there were more than the control buffer can hold, or the
  /// process has reached its limit of open descriptors.
  bool is_truncated;
};

/// Receives bytes and the descriptor that is attached to them.
static inline ssize_t img_receive_passed(
    int socket, void *_Nullable bytes, size_t count, struct img_passed *passed) {
  union img_control control;
  struct iovec part = {bytes, count};
  struct msghdr message = {0};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  passed->descriptor = -1;
  passed->count = 0;
  passed->is_truncated = false;
  ssize_t received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (received < 0) return received;
  passed->is_truncated = message.msg_flags & MSG_CTRUNC;
  for (struct cmsghdr *_Nullable header = CMSG_FIRSTHDR(&message); header != NULL;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t number = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t index = 0; index < number; index += 1) {
      int descriptor;
      memcpy(&descriptor, CMSG_DATA(header) + index * sizeof descriptor, sizeof descriptor);
      passed->count += 1;
      if (passed->count == 1) {
        passed->descriptor = descriptor;
      } else {
        close(descriptor);
      }
    }
  }
  if (passed->descriptor >= 0 && (passed->count > 1 || passed->is_truncated)) {
    close(passed->descriptor);
    passed->descriptor = -1;
  }
  return received;
}

// Processes and threads

/// The environment of this process as a vector for posix_spawn.
static inline char *_Nullable *_Nonnull img_environment(void) { return environ; }

/// Reaps a child by its pidfd without waiting. Returns 1 if it has ended, 0 if it still runs.
/// *was_exit says whether *status is an exit status or a signal.
static inline int img_reap(int pidfd, bool *was_exit, int *status) {
  siginfo_t information = {0};
  if (waitid(P_PIDFD, (id_t)pidfd, &information, WEXITED | WNOHANG) != 0) return -1;
  if (information.si_pid == 0) return 0;
  *was_exit = information.si_code == CLD_EXITED;
  *status = information.si_status;
  return 1;
}

enum { IMG_MAXIMUM_PROCESSOR_COUNT = 8192 };

/// The number of processors that the calling thread may use (sched_getaffinity(2)). <sched.h> declares the C
/// function and the macros of its mask only under _GNU_SOURCE.
static inline int img_usable_processor_count(void) {
  uint64_t mask[IMG_MAXIMUM_PROCESSOR_COUNT / 64] = {0};
  if (syscall(SYS_sched_getaffinity, 0L, sizeof mask, mask) < 0) return -1;
  int count = 0;
  for (size_t index = 0; index < sizeof mask / sizeof *mask; index += 1) {
    count += __builtin_popcountll(mask[index]);
  }
  return count;
}

static inline int img_die_with_parent(int signal) { return prctl(PR_SET_PDEATHSIG, signal); }

/// Sets the limit of core files to 0 and forbids dumping and tracing the process.
static inline int img_forbid_dumps(void) {
  struct rlimit limit = {0};
  if (setrlimit(RLIMIT_CORE, &limit) != 0) return -1;
  return prctl(PR_SET_DUMPABLE, 0);
}

/// Raises the soft limit of open descriptors to the hard limit.
static inline int img_raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit);
}

// Crashes
//
// The compiler creates the static variables of these functions once for each object file, so only one
// source file, `CrashRegion.swift`, may call them.

/// The number of regions that this thread is in.
static inline volatile uint32_t *img_crash_region_depth(void) {
  static _Thread_local volatile uint32_t depth;
  return &depth;
}

static inline void img_enter_crash_region(void) { *img_crash_region_depth() += 1; }

static inline void img_leave_crash_region(void) { *img_crash_region_depth() -= 1; }

/// The steps after a crash inside a region, in this order. The signal then ends the process. None of
/// this memory is ever freed.
struct img_crash_plan {
  /// The address of a word that gets the value 1; 0 for none.
  uintptr_t word;
  /// The arguments with which this program is started again; NULL to not start it again.
  char *_Nullable const *_Nullable arguments;
  char *_Nullable const *_Nullable environment;
  /// The message to standard error before the process exits with `status`; NULL to not exit.
  const char *_Nullable message;
  int status;
};

static inline struct img_crash_plan *img_crash_plan(void) {
  static struct img_crash_plan plan;
  return &plan;
}

/// Makes only async-signal-safe calls (signal-safety(7)).
static inline void img_handle_crash(int signal) {
  const struct img_crash_plan *plan = img_crash_plan();
  if (*img_crash_region_depth() > 0) {
    if (plan->word != 0) img_word_store(plan->word, 0, 1);
    if (plan->arguments != NULL) {
      execve("/proc/self/exe", (char **)plan->arguments, (char **)plan->environment);
    }
    if (plan->message != NULL) {
      ssize_t ignored = write(STDERR_FILENO, plan->message, strlen(plan->message));
      (void)ignored;
      _exit(plan->status);
    }
  }
  // SA_RESETHAND restored the default action, and SA_NODEFER leaves the signal unblocked.
  raise(signal);
}

static inline void img_set_crash_plan(struct img_crash_plan plan) { *img_crash_plan() = plan; }

/// Installs the handler for a signal that a fault raises. The kernel sends it to the faulting thread.
static inline int img_catch_crash(int signal) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = img_handle_crash;
  action.sa_flags = (int)(SA_RESETHAND | SA_NODEFER);
  return sigaction(signal, &action, NULL);
}

// Files and terminals

/// Takes a write lock on a whole file for this open file description (fcntl_locking(2), "Open file
/// description locks"). Fails with EAGAIN if another description holds it.
static inline int img_lock_file(int descriptor) {
  struct flock lock = {0};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(descriptor, IMG_F_OFD_SETLK, &lock);
}

/// Takes the same lock, and waits while another description holds it.
static inline int img_wait_and_lock_file(int descriptor) {
  struct flock lock = {0};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(descriptor, IMG_F_OFD_SETLKW, &lock);
}

/// Whether another description holds such a lock: 1 or 0. Does not take the lock.
static inline int img_is_file_locked(int descriptor) {
  struct flock lock = {0};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (fcntl(descriptor, IMG_F_OFD_GETLK, &lock) != 0) return -1;
  return lock.l_type != F_UNLCK;
}

/// Opens a directory to find files below it, even if the directory is renamed.
static inline int img_open_directory(const char *path) {
  return open(path, IMG_O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/// Opens a path below a directory for reading. Refuses a path that leads outside the directory. Does
/// not wait for the writer of a FIFO. glibc has no wrapper for openat2(2).
static inline int img_open_beneath(int directory, const char *path) {
  struct open_how how = {0};
  how.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

/// Creates an unnamed file for reading and writing on the file system of a directory. O_EXCL makes
/// sure that it never gets a name.
static inline int img_open_unnamed_file(const char *directory) {
  return open(directory, IMG_O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
}

/// Exchanges two paths atomically (rename(2), RENAME_EXCHANGE).
static inline int img_exchange(const char *path, const char *other) {
  return renameat2(AT_FDCWD, path, AT_FDCWD, other, IMG_RENAME_EXCHANGE);
}

static inline int img_terminal_columns(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) != 0 ? -1 : size.ws_col;
}

/// Restarts ITIMER_REAL and ITIMER_PROF with this time, or stops them for 0 (setitimer(2)). In Swift, it
/// depends on the build which module the members of struct timeval belong to.
static inline int img_set_timers(int64_t microseconds) {
  struct itimerval value = {.it_value = {microseconds / 1000000, microseconds % 1000000}};
  if (setitimer(ITIMER_REAL, &value, NULL) != 0) return -1;
  return setitimer(ITIMER_PROF, &value, NULL);
}

#pragma clang assume_nonnull end

#endif
