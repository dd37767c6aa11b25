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
  /// - Throws: as ``withFile(_:upTo:_:)`` does.
  func put(_ path: String, into memory: PictureMemory) throws(Failure) -> Int {
    let limit = memory.maximumByteCount
    return try withFile(path, upTo: limit) { (file, _) throws(Failure) in
      do throws(SystemError) {
        return try memory.put(contentsOf: file, upTo: limit)
      } catch {
        throw Self.failure(error, path, upTo: limit)
      }
    }
  }

  /// Opens a file while `body` runs.
  ///
  /// - Parameters:
  ///   - path: absolute.
  ///   - maximumByteCount: the most that the file may have.
  ///   - body: gets the open file and its size.
  /// - Throws: a ``Failure`` of stage `fetch` with code `blocked_path`, `unreadable_file` or
  ///   `too_large`, and what `body` throws.
  func withFile<Result>(
    _ path: String, upTo maximumByteCount: Int, _ body: (CInt, Int) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let file = try open(path, upTo: maximumByteCount)
    let byteCount: Int
    do throws(SystemError) {
      byteCount = try FileStatus(of: file.rawValue).byteCount
    } catch {
      throw Self.failure(error, path, upTo: maximumByteCount)
    }
    return try body(file.rawValue, byteCount)
  }

  private func open(
    _ path: String, upTo maximumByteCount: Int
  ) throws(Failure) -> OwnedDescriptor {
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
      return try OpenDirectory(root).openFile(
        String(rest), named: path, upTo: maximumByteCount)
    } catch {
      guard error.code != EXDEV else {
        throw Self.failure(.blockedPath, "\(path) is a link that leads out of \(root)")
      }
      throw Self.failure(error, path, upTo: maximumByteCount)
    }
  }

  private static func failure(
    _ error: SystemError, _ path: String, upTo maximumByteCount: Int
  ) -> Failure {
    error.code == EFBIG
      ? failure(.tooLarge, "\(path) is longer than \(maximumByteCount) bytes")
      : failure(.unreadableFile, error.description)
  }

  private static func failure(_ code: Failure.Code, _ detail: String) -> Failure {
    Failure(stage: .fetch, code: code, detail: detail)
  }
}
