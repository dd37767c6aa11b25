import CLinux
import Glibc

/// A directory held open, so that everything found through it lies in this one directory, whatever
/// is renamed meanwhile.
package struct OpenDirectory: ~Copyable, Sendable {
  let descriptor: OwnedDescriptor

  /// Opens what `path` leads to; the right to search it is enough.
  ///
  /// - Throws: ENOENT when there is nothing, ENOTDIR when it is no directory.
  package init(_ path: String) throws(SystemError) {
    descriptor = OwnedDescriptor(
      adopting: try pathCall("open directory", path) { unsafe img_open_directory(path) })
  }

  /// A path that leads to this directory while it is open, for whoever takes paths alone. It needs
  /// /proc (proc(5), /proc/pid/fd).
  package var path: String { "/proc/self/fd/\(descriptor.rawValue)" }

  /// Whether `path` leads to this directory at this moment.
  package func isNamed(_ path: String) -> Bool {
    guard let named = try? FileStatus(following: path),
      let opened = try? FileStatus(of: descriptor.rawValue)
    else { return false }
    return named.isSameFile(as: opened)
  }
}
