import FoundationEssentials
import Glibc

/// The files below a directory, as an origin serves them.
///
/// Nothing outside the directory is ever served, whatever the path says and wherever a symbolic
/// link points.
package struct ServedDirectory: Sendable {
  private let root: String

  private static let mediaTypes = [
    "jpg": "image/jpeg", "jpeg": "image/jpeg", "jpe": "image/jpeg", "jfif": "image/jpeg",
    "png": "image/png", "apng": "image/apng", "webp": "image/webp", "gif": "image/gif",
    "tif": "image/tiff", "tiff": "image/tiff", "avif": "image/avif", "heic": "image/heic",
    "heics": "image/heic-sequence", "heif": "image/heif", "jxl": "image/jxl",
    "svg": "image/svg+xml", "bmp": "image/bmp", "ico": "image/vnd.microsoft.icon",
    "ppm": "image/x-portable-pixmap",
    "html": "text/html", "txt": "text/plain",
  ]

  /// Nil when there is no such directory.
  package init?(_ path: String) {
    guard let root = Self.resolved(path) else { return nil }
    self.root = root
  }

  /// The file that a percent-encoded path names; nil when there is none.
  package func behaviour(for path: String) -> Behaviour? {
    guard let name = PercentEncoding.decoded(path), !name.contains("\0"),
      let file = Self.resolved(root + name), file.hasPrefix(root + "/"),
      let content = FileManager.default.contents(atPath: file)
    else { return nil }
    let suffix = file.split(separator: ".").last.map { $0.lowercased() } ?? ""
    return .body(
      Array(content), contentType: Self.mediaTypes[suffix] ?? "application/octet-stream")
  }

  /// The percent-encoded paths of all files, in order.
  package func paths() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: root)
      .filter { name in
        var isDirectory = false
        let exists = FileManager.default.fileExists(
          atPath: root + "/" + name, isDirectory: &isDirectory)
        return exists && !isDirectory
      }
      .map { "/" + PercentEncoding.encoded($0) }
      .sorted()
  }

  /// The absolute path without symbolic links and dots; nil when nothing is there.
  private static func resolved(_ path: String) -> String? {
    guard let resolved = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }
}
