import Glibc
import ImgClient
import ImgModel
import ImgSystem

/// A picture of the person's own, to be uploaded: a file, or standard input.
struct PictureFile: ~Copyable {
  /// What closes a file; standard input is not ours to close.
  private let file: OwnedDescriptor?
  private let descriptor: CInt
  private let name: String

  /// Opens it, with the rights of whoever calls.
  ///
  /// - Parameter path: `-` for standard input.
  init(path: String) throws(SystemError) {
    if path == "-" {
      file = nil
      descriptor = STDIN_FILENO
      name = "standard input"
      return
    }
    let opened = try FileIO.open(readingFrom: path)
    descriptor = opened.rawValue
    file = consume opened
    name = path
  }

  /// Reads it to its end and hands it in.
  ///
  /// - Parameter url: under which it is to be stored; `nil` when it is not.
  /// - Throws: a ``Failure`` with code `too_large` beyond the coordinator's limit.
  func upload(over client: Client, as url: String?, options: RequestOptions) throws -> GetResult {
    let limit = Int(try client.status().limits.maxBodyByteCount)
    let picture = try contents(upTo: limit)
    return try client.upload(
      MemoryFile(containing: picture), byteCount: picture.count, as: url, options: options)
  }

  private func contents(upTo limit: Int) throws -> [UInt8] {
    do throws(SystemError) {
      return try FileIO.contents(of: descriptor, named: name, upTo: limit)
    } catch {
      guard error.code == EFBIG else { throw error }
      throw Failure(
        stage: .fetch, code: .tooLarge, detail: "\(name) holds more than \(limit) bytes")
    }
  }
}
