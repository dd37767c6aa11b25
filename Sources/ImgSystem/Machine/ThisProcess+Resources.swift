import CLinux
import Glibc

/// The resources of this process and its limits.
extension ThisProcess {
  /// The working directory; `nil` if it was removed.
  package static var currentDirectory: String? {
    guard let path = unsafe getcwd(nil, 0) else { return nil }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }

  /// The number of online cores, at least 1.
  package static var coreCount: Int { max(sysconf(CInt(_SC_NPROCESSORS_ONLN)), 1) }

  /// The number of cores that the calling thread may use (sched_getaffinity(2)), at least 1. A container or a
  /// service can have fewer than the machine.
  package static var usableCoreCount: Int {
    let count = Int(img_usable_processor_count())
    return count > 0 ? count : coreCount
  }

  /// The threads of this process; `nil` if /proc is not mounted.
  package static var threadCount: Int? {
    // The directory contains one directory for each thread.
    (try? FileStatus(following: "/proc/self/task")).map { $0.linkCount - 2 }
  }

  /// The size of a memory page, which is also the page size of LMDB files.
  package static var pageByteCount: Int { max(sysconf(CInt(_SC_PAGESIZE)), 1) }

  /// Limits the private memory (RLIMIT_DATA: heap, stacks and anonymous mappings, but not the
  /// shared map of a store). An allocation beyond it fails, which usually ends the process.
  package static func limitPrivateMemory(byteCount: Int64) throws(SystemError) {
    var limit = rlimit(rlim_cur: rlim_t(byteCount), rlim_max: rlim_t(byteCount))
    _ = try systemCall("setrlimit RLIMIT_DATA") {
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
    }
  }

  /// The maximum size of a file, also of one in memory (RLIMIT_FSIZE).
  package static var maximumFileByteCount: Int {
    var limit = rlimit()
    let result = unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    precondition(result == 0, "every process has this limit")
    return Int(clamping: limit.rlim_cur)
  }

  /// Makes the C library keep freed memory, for a process that often needs buffers of some hundred
  /// kilobytes. By default, it returns all but 128 KiB of the free memory at the end of its heap,
  /// and the kernel must clear each page again: about 200 for each thumbnail of a photograph. Call
  /// this before other threads start.
  ///
  /// Blocks larger than 1 MiB are returned when freed. By default this threshold grows with freed
  /// blocks, up to 32 MiB (mallopt(3), M_MMAP_THRESHOLD). Each heap may keep 4 MiB, so all threads
  /// share two heaps, instead of up to eight for each core.
  package static func keepFreedMemory() {
    for (parameter, value) in [
      (M_TRIM_THRESHOLD, 4 << 20), (M_MMAP_THRESHOLD, 1 << 20), (M_ARENA_MAX, 2),
    ] as [(CInt, CInt)] {
      // Fails with another allocator than the C library's, which does not matter.
      _ = mallopt(parameter, value)
    }
  }

  /// Returns what ``keepFreedMemory()`` kept, also from the middle of each heap (malloc_trim(3)).
  package static func releaseFreedMemory() {
    // Its result says whether any memory was returned.
    _ = malloc_trim(0)
  }

  /// Blocks the calling thread, for pauses between attempts. Never call it in an event loop.
  package static func pause(for duration: Duration) {
    var wanted = duration.timespec
    var left = timespec()
    while unsafe nanosleep(&wanted, &left) != 0, errno == EINTR { wanted = left }
  }
}
