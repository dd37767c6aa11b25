import CLinux
import Glibc

/// Immutable bytes in an anonymous memory file (memfd_create(2), and "File Sealing" in fcntl(2)).
/// They reach another process as a descriptor, without a copy.
///
/// All users share this object. The descriptor closes with the last reference.
/// ``contents(byteCount:)`` validates a file from another process.
package final class MemoryFile: Sendable {
  private let file: OwnedDescriptor

  /// Makes a file of these bytes and seals it.
  ///
  /// - Throws: EFBIG beyond RLIMIT_FSIZE, which also limits memory files; ENOSPC or ENOMEM without
  ///   memory; EMFILE or ENFILE if no more files may be opened.
  package init(containing bytes: [UInt8]) throws(SystemError) {
    file = OwnedDescriptor(
      adopting: try systemCall("memfd_create") { unsafe img_memory_file("imgctl-bytes") })
    try FileIO.writeAll(file.rawValue, bytes)
    _ = try systemCall("fcntl F_ADD_SEALS") { img_seal_contents(file.rawValue) }
  }

  /// Takes ownership of a descriptor from another process, without checks.
  package init(adopting descriptor: consuming OwnedDescriptor) {
    file = descriptor
  }

  /// The descriptor to pass to another process.
  package var descriptor: CInt { file.rawValue }

  /// The bytes of the file.
  ///
  /// - Parameter byteCount: the announced size.
  /// - Throws: EINVAL if the size differs or it is not a memory file, EPERM if another process
  ///   could change the file during the read.
  package func contents(byteCount: Int) throws(SystemError) -> [UInt8] {
    let isSealed = try systemCall("fcntl F_GET_SEALS") { img_has_sealed_contents(file.rawValue) }
    guard isSealed == 1 else { throw SystemError(operation: "read an unsealed file", code: EPERM) }
    guard try FileStatus(of: file.rawValue).byteCount == byteCount else {
      throw SystemError(operation: "read a file of another size", code: EINVAL)
    }
    return try FileIO.contents(of: file.rawValue, first: byteCount)
  }
}
