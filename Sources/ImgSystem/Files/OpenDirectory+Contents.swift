import CLinux
import Glibc

extension OpenDirectory {
  /// The bytes of a regular file below this directory. Symbolic links are followed as long as they
  /// stay below it; one that holds an absolute path leaves it, wherever that leads (openat2(2),
  /// RESOLVE_BENEATH).
  ///
  /// - Parameter path: from this directory on.
  /// - Throws: EXDEV when the path leads out of the directory, EINVAL when it leads to a FIFO, a
  ///   device or what else is no regular file, EFBIG when the file holds more than
  ///   `maximumByteCount`.
  package func contents(
    ofFile path: String, upTo maximumByteCount: Int
  ) throws(SystemError) -> [UInt8] {
    let file = OwnedDescriptor(
      adopting: try pathCall("open", path) { [descriptor = descriptor.rawValue] in
        unsafe img_open_beneath(descriptor, path)
      })
    let status = try FileStatus(of: file.rawValue)
    guard status.isRegularFile else {
      throw SystemError(operation: "read \(path), which is no regular file", code: EINVAL)
    }
    guard status.byteCount <= maximumByteCount else {
      throw SystemError(operation: "read \(path)", code: EFBIG)
    }
    return try FileIO.contents(of: file.rawValue, named: path, upTo: maximumByteCount)
  }
}
