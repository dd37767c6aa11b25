import CLinux
import Glibc

/// Immutable bytes in an anonymous memory file (memfd_create(2), and "File Sealing" in fcntl(2)).
/// They reach another process as a descriptor, without a copy.
///
/// ``contents(byteCount:)`` validates a file from another process.
package struct MemoryFile: Sendable {
  /// The open file, to pass to another process.
  package let file: PassedFile

  /// Makes a file of these bytes and seals it.
  ///
  /// - Throws: EFBIG beyond RLIMIT_FSIZE, which also limits memory files; ENOSPC or ENOMEM without
  ///   memory; EMFILE or ENFILE if no more files may be opened.
  package init(containing bytes: [UInt8]) throws(SystemError) {
    file = PassedFile(
      adopting: OwnedDescriptor(
        adopting: try systemCall("memfd_create") { unsafe img_memory_file("imgctl-bytes") }))
    try FileIO.writeAll(file.descriptor, bytes)
    _ = try systemCall("fcntl F_ADD_SEALS") { img_seal_contents(file.descriptor) }
  }

  /// A file from another process, without checks.
  package init(_ file: PassedFile) {
    self.file = file
  }

  /// The bytes of the file.
  ///
  /// - Parameter byteCount: the announced size.
  /// - Throws: EINVAL if the size differs or it is not a memory file, EPERM if another process
  ///   could change the file during the read.
  package func contents(byteCount: Int) throws(SystemError) -> [UInt8] {
    let isSealed = try systemCall("fcntl F_GET_SEALS") { img_has_sealed_contents(file.descriptor) }
    guard isSealed == 1 else { throw SystemError(operation: "read an unsealed file", code: EPERM) }
    guard try FileStatus(of: file.descriptor).byteCount == byteCount else {
      throw SystemError(operation: "read a file of another size", code: EINVAL)
    }
    return try FileIO.contents(of: file.descriptor, first: byteCount)
  }
}
