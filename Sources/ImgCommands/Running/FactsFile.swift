import Glibc
import ImgFacts
import ImgModel
import ImgSettings
import ImgSystem

/// Reads the facts of a local picture in place. Of a file it reads some parts, and a stream as far as
/// necessary.
final class FactsFile {
  private static let chunkByteCount = 64 << 10

  /// Closes a file at the end; `nil` for standard input, which stays open.
  private let file: OwnedDescriptor?
  private let descriptor: CInt
  private let name: String
  /// `nil` for a stream.
  private let byteCount: Int?
  /// What has come of a stream.
  private var stream: [UInt8] = []

  /// - Parameter path: `-` for standard input.
  /// - Throws: a ``UsageError`` for a file that does not exist.
  init(path: String) throws {
    if path == "-" {
      file = nil
      descriptor = STDIN_FILENO
      name = "standard input"
      byteCount = nil
      return
    }
    do throws(SystemError) {
      let opened = try FileIO.open(readingFrom: path)
      let status = try FileStatus(of: opened.rawValue)
      descriptor = opened.rawValue
      file = consume opened
      byteCount = status.isRegularFile ? status.byteCount : nil
      name = path
    } catch {
      guard error.code == ENOENT else { throw error }
      throw UsageError(
        "imgctl info: no such file: \(Spelling.quotedWhole(path)); a URL begins with https:// or http://"
      )
    }
  }

  /// The metadata, and the frames of a GIF, WebP or PNG: counting them takes a walk through the file,
  /// which costs no fetch. Those of a stream are not counted, because it would be read to its end.
  ///
  /// - Throws: as ``record(_:)`` does.
  func record() throws(Failure) -> FactsRecord {
    let record = try record(.metadata)
    let facts = record.facts
    guard byteCount != nil, [.gif, .webp, .png].contains(facts.format), facts.isAnimated != false
    else { return record }
    return try self.record(.all)
  }

  /// - Throws: a ``Failure`` if the file cannot be read, or has no facts.
  func record(_ extent: FactsExtent) throws(Failure) -> FactsRecord {
    try FactsQuery.record(extent, byteCount: byteCount) { (range) throws(Failure) in
      do throws(SystemError) {
        return try byteCount == nil
          ? streamed(range) : FileIO.contents(of: descriptor, in: range)
      } catch {
        throw Failure(
          stage: .fetch, code: .unreadableFile, detail: "\(name) cannot be read: \(error)")
      }
    }
  }

  private func streamed(_ range: Range<Int>) throws(SystemError) -> [UInt8] {
    while stream.count < range.upperBound,
      try FileIO.read(descriptor, into: &stream, upTo: Self.chunkByteCount) > 0
    {}
    return Array(stream[range.clamped(to: 0..<stream.count)])
  }
}
