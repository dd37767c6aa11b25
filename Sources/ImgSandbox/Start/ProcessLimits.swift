import Glibc
import ImgSystem

/// Limits of a process that decodes (getrlimit(2)). The process cannot raise them.
package struct ProcessLimits: Hashable, Sendable {
  /// Heap, stacks and anonymous mappings (RLIMIT_DATA).
  package let privateByteCount: Int64
  /// Everything that is mapped (RLIMIT_AS): also libraries, shared memory and reserved addresses.
  package let addressSpaceByteCount: Int64
  /// Open descriptors (RLIMIT_NOFILE). Beside the standard streams and the connection these are one
  /// memory file at a time, and fonts, which are opened one by one to draw text. There are few, because
  /// a process that keeps the memory files that it is passed keeps their memory.
  package let descriptorCount = 16
  /// Processes and threads of the user namespace (RLIMIT_NPROC), which contains only this process.
  /// Decoders of AVIF and JPEG XL start some threads for each core.
  package let threadCount = 1_024

  /// The space for what is mapped besides. While a thousand pictures of all formats were decoded, that
  /// was at most 234 MiB: libraries, fonts, and addresses that the allocator reserves for threads. The
  /// rest is for larger builds of the libraries, and for larger fonts.
  private static let reservedByteCount: Int64 = 512 << 20

  /// - Parameters:
  ///   - privateByteCount: what a decode may use.
  ///   - sharedByteCount: the memory that it shares with other processes.
  package init(privateByteCount: Int64, sharedByteCount: Int64) {
    self.privateByteCount = privateByteCount
    addressSpaceByteCount = privateByteCount + sharedByteCount + Self.reservedByteCount
  }

  /// - Parameter hasOwnUsers: whether the process has a user namespace of its own. Without it, the
  ///   kernel would count all processes of the user.
  func enforce(hasOwnUsers: Bool) throws(SystemError) {
    try Self.limit(RLIMIT_DATA, "DATA", to: privateByteCount)
    try Self.limit(RLIMIT_AS, "AS", to: addressSpaceByteCount)
    try Self.limit(RLIMIT_NOFILE, "NOFILE", to: Int64(descriptorCount))
    try Self.limit(RLIMIT_FSIZE, "FSIZE", to: 0)
    if hasOwnUsers { try Self.limit(__RLIMIT_NPROC, "NPROC", to: Int64(threadCount)) }
  }

  /// Sets the soft and the hard limit, and leaves lower ones as they are.
  private static func limit(
    _ resource: __rlimit_resource, _ name: String, to value: Int64
  ) throws(SystemError) {
    let number = __rlimit_resource_t(resource.rawValue)
    var limit = rlimit()
    _ = try systemCall("getrlimit RLIMIT_\(name)") { unsafe getrlimit(number, &limit) }
    limit.rlim_max = min(limit.rlim_max, rlim_t(value))
    limit.rlim_cur = min(limit.rlim_cur, limit.rlim_max)
    _ = try systemCall("setrlimit RLIMIT_\(name)") { unsafe setrlimit(number, &limit) }
  }
}
