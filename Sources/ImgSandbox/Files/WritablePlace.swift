import ImgSystem

/// Where a process writes to replace a file or a directory by another of its name.
package enum WritablePlace {
  /// The directory that contains `path`. Where that is the root of all files, below which no process
  /// may write, it is `path` itself, which then cannot be replaced.
  ///
  /// - Returns: `nil` if `path` is the root.
  package static func around(_ path: String) -> String? {
    guard !isRoot(path) else { return nil }
    let parent = String(path.lastIndex(of: "/").map { path[..<$0] } ?? "")
    return parent.isEmpty || isRoot(parent) ? path : parent
  }

  private static func isRoot(_ path: String) -> Bool {
    ((try? Directory.resolve(path)) ?? path) == "/"
  }
}
