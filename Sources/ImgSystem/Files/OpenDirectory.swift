import CLinux
import Glibc

/// An open directory. Paths through it stay in this directory even if it is renamed meanwhile.
package struct OpenDirectory: ~Copyable, Sendable {
  let descriptor: OwnedDescriptor

  /// Opens a directory. Requires only search permission.
  ///
  /// - Throws: ENOENT if it is missing, ENOTDIR if it is not a directory.
  package init(_ path: String) throws(SystemError) {
    descriptor = OwnedDescriptor(
      adopting: try pathCall("open directory", path) { unsafe img_open_directory(path) })
  }

  /// A path to this directory while it is open, for calls that take only paths. Requires /proc
  /// (proc(5), /proc/pid/fd).
  package var path: String { "/proc/self/fd/\(descriptor.rawValue)" }

  /// Whether `path` currently leads to this directory.
  package func isNamed(_ path: String) -> Bool {
    guard let named = try? FileStatus(following: path),
      let opened = try? FileStatus(of: descriptor.rawValue)
    else { return false }
    return named.isSameFile(as: opened)
  }
}
