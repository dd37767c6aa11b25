import CLinux
import Glibc

/// What the machine gives this process, and what the process allows itself.
extension ThisProcess {
  /// The working directory; `nil` when it was removed.
  package static var currentDirectory: String? {
    guard let path = unsafe getcwd(nil, 0) else { return nil }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }

  /// Cores this machine has online, at least 1.
  package static var coreCount: Int { max(sysconf(CInt(_SC_NPROCESSORS_ONLN)), 1) }

  /// Bytes of a page of memory, which LMDB makes the unit of its files.
  package static var pageByteCount: Int { max(sysconf(CInt(_SC_PAGESIZE)), 1) }

  /// Limits the private memory (RLIMIT_DATA: heap, stacks and anonymous mappings; the shared map of
  /// a store does not count). An allocation beyond it fails, and with it mostly the process.
  package static func limitPrivateMemory(byteCount: Int64) throws(SystemError) {
    var limit = rlimit(rlim_cur: rlim_t(byteCount), rlim_max: rlim_t(byteCount))
    _ = try systemCall("setrlimit RLIMIT_DATA") {
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
    }
  }

  /// Has the C library keep memory that is freed, for a process that needs buffers of some hundred
  /// kilobytes all the time. By default it gives back all but 128 KiB of what lies free at the end
  /// of its heap, and the kernel clears each page anew that is then taken again: some 200 for each
  /// thumbnail of a photograph. To be called before there are other threads.
  ///
  /// What is longer than 1 MiB is given back as soon as it is freed; by default that length grows,
  /// up to 32 MiB, with what is freed (mallopt(3), M_MMAP_THRESHOLD). Each heap may keep 4 MiB, so
  /// there are two for all threads, not up to eight for each core.
  package static func keepFreedMemory() {
    for (parameter, value) in [
      (M_TRIM_THRESHOLD, 4 << 20), (M_MMAP_THRESHOLD, 1 << 20), (M_ARENA_MAX, 2),
    ] as [(CInt, CInt)] {
      // An allocator in the place of the C library's own has no such parameters, and takes none.
      _ = mallopt(parameter, value)
    }
  }

  /// Makes the calling thread wait; for pauses between attempts, never in a loop that serves
  /// others.
  package static func pause(for duration: Duration) {
    var wanted = duration.timespec
    var left = timespec()
    while unsafe nanosleep(&wanted, &left) != 0, errno == EINTR { wanted = left }
  }
}

extension Duration {
  fileprivate var timespec: timespec {
    let (seconds, attoseconds) = components
    return Glibc.timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
  }
}
