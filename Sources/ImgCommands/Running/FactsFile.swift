import Glibc
import ImgFacts
import ImgModel
import ImgSettings
import ImgSystem

/// Reads the facts of a local picture in place. Of a file it reads some parts, and a stream as far as
/// necessary.
final class FactsFile {
  private static let chunkByteCount = 64 << 10

  private let file: InputFile
  /// `nil` for a stream.
  private let byteCount: Int?
  /// What has come of a stream.
  private var stream: [UInt8] = []

  /// - Parameter path: `-` for standard input.
  /// - Throws: a ``UsageError`` for a file that does not exist.
  init(path: String) throws {
    do throws(SystemError) {
      let file = try InputFile(path: path)
      let status = try path == "-" ? nil : FileStatus(of: file.descriptor)
      byteCount = status?.isRegularFile == true ? status?.byteCount : nil
      self.file = file
    } catch {
      guard error.code == ENOENT else { throw error }
      throw UsageError(
        "imgctl info: no such file: \(Spelling.quotedWhole(path)); a URL begins with https:// or http://"
      )
    }
  }

  /// The metadata, and the frames of a GIF, WebP or PNG: counting them takes a walk through the file,
  /// which costs no fetch. A stream is read to its end for it, at most to ``FactsQuery``'s limit.
  ///
  /// - Throws: as ``record(_:)`` does.
  func record() throws(Failure) -> FactsRecord {
    let record = try record(.metadata)
    let facts = record.facts
    guard [.gif, .webp, .png].contains(facts.format), facts.isAnimated != false
    else { return record }
    return try self.record(.all)
  }

  /// - Throws: a ``Failure`` if the file cannot be read, or has no facts.
  func record(_ extent: FactsExtent) throws(Failure) -> FactsRecord {
    try FactsQuery.record(extent, byteCount: byteCount) { (range) throws(Failure) in
      do throws(SystemError) {
        return try byteCount == nil
          ? streamed(range) : FileIO.contents(of: file.descriptor, in: range)
      } catch {
        throw Failure(
          stage: .fetch, code: .unreadableFile, detail: "\(file.name) cannot be read: \(error)")
      }
    }
  }

  private func streamed(_ range: Range<Int>) throws(SystemError) -> [UInt8] {
    while stream.count < range.upperBound,
      try file.read(into: &stream, upTo: Self.chunkByteCount) > 0
    {}
    return Array(stream[range.clamped(to: 0..<stream.count)])
  }
}
