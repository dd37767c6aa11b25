import Glibc
import ImgModel
import ImgSystem
import ImgTransport

/// The files that `file:` URLs may name: those below the directories that the coordinator was given.
struct LocalFiles: Sendable {
  /// Absolute paths without a slash at the end.
  let directories: [String]

  /// Puts the bytes of a file into the memory of a decoder.
  ///
  /// - Parameter path: absolute.
  /// - Returns: how many they are.
  /// - Throws: a ``Failure`` of stage `fetch` with code `blocked_path`, `unreadable_file` or
  ///   `too_large`.
  func put(_ path: String, into memory: PictureMemory) throws(Failure) -> Int {
    // Of nested directories the outermost: links of the inner ones may lead to anywhere below it.
    let roots = directories.filter { path.hasPrefix($0 == "/" ? $0 : "\($0)/") }
    guard let root = roots.min(by: { $0.utf8.count < $1.utf8.count }) else {
      throw Self.failure(
        .blockedPath,
        "\(path) is not below an allowed directory; imgctl stop, then imgctl start "
          + "--allow-directory DIR allows one")
    }
    do throws(SystemError) {
      let rest = path.dropFirst(root.count).drop { $0 == "/" }
      let file = try OpenDirectory(root).openFile(String(rest), upTo: memory.maximumByteCount)
      return try memory.put(contentsOf: file.rawValue, upTo: memory.maximumByteCount)
    } catch {
      switch error.code {
      case EXDEV: throw Self.failure(.blockedPath, "\(path) is a link that leads out of \(root)")
      case EFBIG:
        throw Self.failure(.tooLarge, "\(path) is longer than \(memory.maximumByteCount) bytes")
      default: throw Self.failure(.unreadableFile, error.description)
      }
    }
  }

  private static func failure(_ code: Failure.Code, _ detail: String) -> Failure {
    Failure(stage: .fetch, code: code, detail: detail)
  }
}
