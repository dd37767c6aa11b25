import CLinux
import Glibc

extension OpenDirectory {
  /// Opens a regular file below this directory for reading. Follows symbolic links that stay below
  /// it. A link with an absolute path counts as leaving it (openat2(2), RESOLVE_BENEATH).
  ///
  /// - Parameters:
  ///   - path: relative to this directory.
  ///   - name: what errors call the file, such as its absolute path.
  /// - Throws: EXDEV if the path leads out of the directory, EINVAL if it is not a regular file
  ///   but, for example, a FIFO or a device, EFBIG if the file has more than `maximumByteCount`.
  package func openFile(
    _ path: String, named name: String, upTo maximumByteCount: Int
  ) throws(SystemError) -> OwnedDescriptor {
    let file = OwnedDescriptor(
      adopting: try pathCall("open", name) { [descriptor = descriptor.rawValue] in
        unsafe img_open_beneath(descriptor, path)
      })
    let status = try FileStatus(of: file.rawValue)
    guard status.isRegularFile else {
      throw SystemError(operation: "read \(name), which is not a regular file", code: EINVAL)
    }
    guard status.byteCount <= maximumByteCount else {
      throw SystemError(operation: "read \(name)", code: EFBIG)
    }
    return file
  }
}
