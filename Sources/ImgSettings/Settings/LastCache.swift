import ImgSystem

/// The cache directory of the last coordinator of a data directory, which a file there names. So a command that
/// names the data directory alone can say where the thumbnails are.
package enum LastCache {
  private static let maximumByteCount = 4_096

  private static func path(in settings: Settings) -> String {
    "\(settings.dataDirectory)/cache-directory"
  }

  /// Writes the directory of a coordinator that starts. Settings are resolved.
  package static func note(_ settings: Settings) {
    // On a full disk, the next start says nothing.
    try? FileIO.replace(path: path(in: settings), with: Array(settings.cacheDirectory.utf8))
  }

  /// The directory if it is there and is another than that of some settings; `nil` otherwise.
  package static func otherDirectory(than settings: Settings) -> String? {
    guard
      let bytes = try? FileIO.contents(of: path(in: settings), upTo: maximumByteCount)
    else { return nil }
    let directory = String(decoding: bytes, as: UTF8.self)
    guard directory != settings.cacheDirectory,
      let last = try? FileStatus(following: directory), last.isDirectory,
      (try? FileStatus(following: settings.cacheDirectory))?.isSameFile(as: last) != true
    else { return nil }
    return directory
  }
}
