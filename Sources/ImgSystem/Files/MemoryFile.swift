import CLinux
import Glibc

/// Bytes in an anonymous file in memory that nobody can change any more (memfd_create(2), and "File
/// Sealing" in fcntl(2)): they reach another process as a descriptor, without a copy on the way.
///
/// Everybody who passes it on shares this object; the descriptor is closed when the last lets go.
/// What another process made is not trusted before ``contents(byteCount:)`` has looked at it.
package final class MemoryFile: Sendable {
  private let file: OwnedDescriptor

  /// Makes a file of these bytes and seals it.
  ///
  /// - Throws: EFBIG beyond RLIMIT_FSIZE, which holds for files in memory too, ENOSPC or ENOMEM
  ///   where there is no memory, EMFILE or ENFILE where no file may be opened any more.
  package init(containing bytes: [UInt8]) throws(SystemError) {
    file = OwnedDescriptor(
      adopting: try systemCall("memfd_create") { unsafe img_memory_file("imgctl-bytes") })
    try FileIO.writeAll(file.rawValue, bytes)
    _ = try systemCall("fcntl F_ADD_SEALS") { img_seal_contents(file.rawValue) }
  }

  /// Takes over what another process has passed on, whatever it is.
  package init(adopting descriptor: consuming OwnedDescriptor) {
    file = descriptor
  }

  /// To be passed on.
  package var descriptor: CInt { file.rawValue }

  /// The bytes.
  ///
  /// - Parameter byteCount: how many there are said to be.
  /// - Throws: EINVAL when it holds another number of bytes or is no file in memory, EPERM when
  ///   somebody could still change it while it is read.
  package func contents(byteCount: Int) throws(SystemError) -> [UInt8] {
    let isSealed = try systemCall("fcntl F_GET_SEALS") { img_has_sealed_contents(file.rawValue) }
    guard isSealed == 1 else { throw SystemError(operation: "read an unsealed file", code: EPERM) }
    guard try FileStatus(of: file.rawValue).byteCount == byteCount else {
      throw SystemError(operation: "read a file of another size", code: EINVAL)
    }
    return try FileIO.contents(of: file.rawValue, first: byteCount)
  }
}
