// System calls that a sandbox is expected to refuse. Each function returns a negative value and sets
// errno if the call fails, and undoes what the call did if it succeeds.
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#pragma clang assume_nonnull begin

// Processes

/// Returns only on failure.
static inline int attempt_execute(const char *path) {
  char *arguments[] = {(char *)path, NULL};
  return execv(path, arguments);
}

static inline int attempt_fork(void) {
  pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) _exit(0);
  return waitpid(child, NULL, 0) == child ? 0 : -1;
}

static inline void *_Nullable attempt_nothing(void *_Nullable context) { return context; }

static inline int attempt_thread(void) {
  pthread_t thread;
  int code = pthread_create(&thread, NULL, attempt_nothing, NULL);
  if (code == 0) code = pthread_join(thread, NULL);
  errno = code;
  return code == 0 ? 0 : -1;
}

static inline int attempt_trace(pid_t process) {
  // PTRACE_SEIZE does not stop the process. The end of this process undoes it.
  return (int)syscall(SYS_ptrace, PTRACE_SEIZE, (long)process, 0L, 0L);
}

static inline int attempt_read_memory(pid_t process, uintptr_t address) {
  char byte;
  struct iovec here = {&byte, 1}, there = {(void *)address, 1};
  return (int)syscall(SYS_process_vm_readv, (long)process, &here, 1L, &there, 1L, 0L);
}

static inline int attempt_signal(pid_t process) { return kill(process, SIGWINCH); }

static inline int attempt_signal_thread(pid_t process) {
  return (int)syscall(SYS_tgkill, (long)process, (long)process, (long)SIGWINCH);
}

static inline int attempt_queue_signal(pid_t process) {
  siginfo_t information;
  memset(&information, 0, sizeof information);
  information.si_code = SI_QUEUE;
  return (int)syscall(
      SYS_rt_tgsigqueueinfo, (long)process, (long)process, (long)SIGWINCH, &information);
}

/// Makes a process the one that the kernel signals when a descriptor becomes ready.
static inline int attempt_own(int descriptor, pid_t process) {
  enum { f_setown = 8 };
  if (fcntl(descriptor, f_setown, process) != 0) return -1;
  return fcntl(descriptor, f_setown, 0);
}

static inline int attempt_own_by_ioctl(int descriptor, pid_t process) {
  pid_t none = 0;
  if (ioctl(descriptor, FIOSETOWN, &process) != 0) return -1;
  return ioctl(descriptor, FIOSETOWN, &none);
}

/// Sets a limit to what it is.
static inline int attempt_limit(pid_t process) {
  struct rlimit limit;
  if (syscall(SYS_prlimit64, (long)process, (long)RLIMIT_CPU, NULL, &limit) != 0) return -1;
  return (int)syscall(SYS_prlimit64, (long)process, (long)RLIMIT_CPU, &limit, NULL);
}

/// Sets the processors to what they are.
static inline int attempt_set_processors(pid_t process) {
  unsigned long mask[16];
  long size = syscall(SYS_sched_getaffinity, (long)process, sizeof mask, mask);
  if (size < 0) return -1;
  return (int)syscall(SYS_sched_setaffinity, (long)process, size, mask);
}

/// Sets the priority to what it is.
static inline int attempt_set_priority(pid_t process) {
  errno = 0;
  int priority = getpriority(PRIO_PROCESS, (id_t)process);
  if (priority == -1 && errno != 0) return -1;
  return setpriority(PRIO_PROCESS, (id_t)process, priority);
}

// Files

static inline int attempt_read_link(const char *path) {
  char target[4096];
  return (int)readlink(path, target, sizeof target);
}

static inline int attempt_look_at(const char *path) {
  struct stat status;
  return stat(path, &status);
}

/// Asks for the state of a file with the flag that is for open files.
static inline int attempt_look_at_with_flag(const char *path) {
  enum { at_empty_path = 0x1000 };
  struct stat status;
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, &status, at_empty_path);
}

static inline int attempt_extended_look_at(const char *path) {
  enum { at_empty_path = 0x1000, basic_status = 0x7FF };
  char status[256];
  return (int)syscall(SYS_statx, AT_FDCWD, path, at_empty_path, basic_status, status);
}

/// Opens a path without a right to read the file.
static inline int attempt_open_path(const char *path) {
  enum { o_path = 010000000 };
  return open(path, o_path);
}

/// Learns whether a path names a file: asks for one that exists, and for one that does not.
static inline int attempt_find(const char *path) {
  char other[4096];
  size_t length = strlen(path);
  if (length + 2 > sizeof other) return -1;
  memcpy(other, path, length);
  memcpy(other + length, "?", 2);
  if (access(path, F_OK) != 0) return -1;
  if (access(other, F_OK) != 0) return 0;
  errno = EACCES;
  return -1;
}

/// Sets the mode to what it is.
static inline int attempt_set_mode(const char *path) { return chmod(path, 0600); }

/// As chmod does, by the call that newer C libraries prefer.
static inline int attempt_set_mode_at(const char *path) {
  enum { fchmodat2 = 452 };
  return (int)syscall(fchmodat2, AT_FDCWD, path, 0600, 0);
}

static inline int attempt_set_mode_of(int descriptor) { return fchmod(descriptor, 0600); }

/// Sets the owner to what it is.
static inline int attempt_set_owner(const char *path) {
  return chown(path, (uid_t)-1, (gid_t)-1);
}

static inline int attempt_set_times(const char *path) {
  return utimensat(AT_FDCWD, path, NULL, 0);
}

static inline int attempt_set_attribute(const char *path) {
  if (setxattr(path, "user.attempt", "1", 1, 0) != 0) return -1;
  return removexattr(path, "user.attempt");
}

// Memory

static inline int attempt_map_executable(void) {
  void *page =
      mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? -1 : 0;
}

static inline int attempt_protect_executable(void) {
  void *page =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? -1 : mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

/// As mprotect does, by the call that also names a key.
static inline int attempt_protect_executable_by_key(void) {
  void *page =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return -1;
  return (int)syscall(SYS_pkey_mprotect, page, 4096L, (long)(PROT_READ | PROT_EXEC), -1L);
}

static inline int attempt_map(int flags) {
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
  return page == MAP_FAILED ? -1 : 0;
}

static inline int attempt_map_shared(void) { return attempt_map(MAP_SHARED); }

static inline int attempt_map_growing(void) { return attempt_map(MAP_PRIVATE | MAP_GROWSDOWN); }

static inline int attempt_memory_file(void) {
  return (int)syscall(SYS_memfd_create, "attempt", 0u);
}

// What processes find by number or name

static inline int attempt_shared_segment(void) {
  int segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  return segment < 0 ? -1 : shmctl(segment, IPC_RMID, NULL);
}

static inline int attempt_message_queue(void) {
  int queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
  return queue < 0 ? -1 : msgctl(queue, IPC_RMID, NULL);
}

static inline int attempt_semaphore(void) {
  int semaphore = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
  return semaphore < 0 ? -1 : semctl(semaphore, 0, IPC_RMID);
}

static inline int attempt_named_queue(void) {
  int queue = (int)syscall(SYS_mq_open, "imgsandboxtest", O_RDONLY | O_CREAT, 0600, NULL);
  return queue < 0 ? -1 : (int)syscall(SYS_mq_unlink, "imgsandboxtest");
}

// Sockets

static inline int attempt_connect_port(int type, uint16_t port) {
  struct sockaddr_in address = {
      .sin_family = AF_INET,
      .sin_port = htons(port),
      .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
  };
  int descriptor = socket(AF_INET, type, 0);
  if (descriptor < 0) return -1;
  if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) return -1;
  return type == SOCK_DGRAM ? (int)send(descriptor, "?", 1, MSG_NOSIGNAL) : 0;
}

/// - name: a path, or an abstract name with "@" in place of its first zero byte.
static inline int attempt_connect_name(const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(name);
  if (length >= sizeof address.sun_path) return -1;
  memcpy(address.sun_path, name, length);
  if (name[0] == '@') address.sun_path[0] = 0;
  int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  if (descriptor < 0) return -1;
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  return connect(descriptor, (struct sockaddr *)&address, size);
}

static inline int attempt_bind_port(void) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  if (descriptor < 0) return -1;
  return bind(descriptor, (struct sockaddr *)&address, sizeof address);
}

static inline int attempt_packet_socket(void) {
  int descriptor = socket(AF_PACKET, SOCK_DGRAM, 0);
  return descriptor;
}

/// Opens a socket for the messages of the kernel to device managers.
static inline int attempt_netlink(void) {
  return socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT);
}

static inline int attempt_shut_down(int descriptor) { return shutdown(descriptor, SHUT_RDWR); }

/// Sets the flags to what they are.
static inline int attempt_set_flags(int descriptor) {
  int flags = fcntl(descriptor, F_GETFL);
  return flags < 0 ? -1 : fcntl(descriptor, F_SETFL, flags);
}

static inline int attempt_socket_pair(void) {
  int descriptors[2];
  return socketpair(AF_UNIX, SOCK_STREAM, 0, descriptors);
}

/// A pair whose ends can send to other sockets.
static inline int attempt_datagram_pair(void) {
  int descriptors[2];
  return socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, descriptors);
}

static inline int attempt_resolve(const char *name) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *result = NULL;
  int code = getaddrinfo(name, "80", &hints, &result);
  if (code == 0) {
    freeaddrinfo(result);
    return 0;
  }
  if (code != EAI_SYSTEM) errno = EHOSTUNREACH;
  return -1;
}

/// Makes a listening stream socket, on loopback for a NULL name. Returns the descriptor.
static inline int attempt_listen(const char *_Nullable name, uint16_t *port) {
  struct sockaddr_un named = {.sun_family = AF_UNIX};
  struct sockaddr_in numbered = {
      .sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  struct sockaddr *address = (struct sockaddr *)&numbered;
  socklen_t size = sizeof numbered;
  if (name != NULL) {
    size_t length = strlen(name);
    if (length >= sizeof named.sun_path) return -1;
    memcpy(named.sun_path, name, length);
    if (name[0] == '@') named.sun_path[0] = 0;
    address = (struct sockaddr *)&named;
    size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  }
  int descriptor = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0 || bind(descriptor, address, size) != 0) return -1;
  if (listen(descriptor, 64) != 0) return -1;
  if (name == NULL) {
    if (getsockname(descriptor, address, &size) != 0) return -1;
    *port = ntohs(numbered.sin_port);
  }
  return descriptor;
}

// The kernel

static inline int attempt_new_users(void) { return (int)syscall(SYS_unshare, 0x10000000L); }

static inline int attempt_mount(const char *directory) {
  if (mount("none", directory, "tmpfs", 0, NULL) != 0) return -1;
  return umount2(directory, MNT_DETACH);
}

static inline int attempt_keyring(void) {
  return (int)syscall(SYS_keyctl, (long)KEYCTL_GET_KEYRING_ID, -3L, 1L);
}

static inline int attempt_ring(void) {
  struct io_uring_params parameters;
  memset(&parameters, 0, sizeof parameters);
  return (int)syscall(SYS_io_uring_setup, 1L, &parameters);
}

static inline int attempt_bpf(void) {
  union bpf_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = 4;
  attributes.value_size = 4;
  attributes.max_entries = 1;
  return (int)syscall(SYS_bpf, (long)BPF_MAP_CREATE, &attributes, sizeof attributes);
}

static inline int attempt_performance_counter(void) {
  struct perf_event_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  return (int)syscall(SYS_perf_event_open, &attributes, 0L, -1L, -1L, 0L);
}

#pragma clang assume_nonnull end
