import Glibc
import ImgClient
import ImgModel
import ImgSettings
import ImgSystem

/// A local picture for upload: a file or standard input.
struct PictureFile: ~Copyable {
  private let file: InputFile

  /// Opens the file with the rights of this process.
  ///
  /// - Parameter path: `-` for standard input.
  init(path: String) throws(SystemError) {
    file = try InputFile(path: path)
  }

  /// The same for a command that reads no other picture.
  ///
  /// - Throws: a ``UsageError`` for a file that does not exist.
  init(path: String, of command: CommandDescription) throws {
    do throws(SystemError) {
      self = try PictureFile(path: path)
    } catch {
      guard error.code == ENOENT else { throw error }
      throw UsageError(
        "\(command.name): no such file: \(Spelling.quotedWhole(path)); a URL begins with "
          + "https:// or http://")
    }
  }

  /// The same for a command that has another picture to try.
  ///
  /// - Throws: a ``Failure`` with code `unreadable_file`.
  init(attempting path: String) throws(Failure) {
    do throws(SystemError) {
      self = try PictureFile(path: path)
    } catch {
      throw Failure(stage: .fetch, code: .unreadableFile, detail: error.description)
    }
  }

  /// Reads the whole picture and uploads it.
  ///
  /// - Parameter url: the URL to store it under; `nil` to store nothing.
  /// - Throws: as ``contents(for:)`` does.
  func upload(over client: Client, as url: String?, options: RequestOptions) throws -> GetResult {
    try client.upload(try contents(for: client), as: url, options: options)
  }

  /// Reads the whole picture for a coordinator.
  ///
  /// - Throws: a ``Failure`` with code `too_large` beyond the coordinator's limit.
  func contents(for client: Client) throws -> [UInt8] {
    let limit = try client.maximumUploadByteCount()
    do throws(SystemError) {
      return try FileIO.contents(of: file.descriptor, named: file.name, upTo: limit)
    } catch {
      guard error.code == EFBIG else { throw error }
      throw Failure(
        stage: .fetch, code: .tooLarge, detail: "\(file.name) has more than \(limit) bytes")
    }
  }
}
