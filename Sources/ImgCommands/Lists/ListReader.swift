import ImgModel
import ImgWire

/// Cuts the bytes of a list into entries, one a line, and gathers them into batches that fit a
/// frame. Pure: bytes in, batches out.
///
/// Blanks around an entry, empty lines and lines that begin with `#` do not count. Bytes that are
/// not UTF-8 become U+FFFD. Of a line that is too long for a URL only ``maximumEntryByteCount``
/// bytes are kept, one more than a URL may have, so that this one entry is refused where all are
/// checked, and memory stays bounded whatever the list holds.
package struct ListReader: Sendable {
  /// The most bytes of a line that make its entry.
  package static let maximumEntryByteCount = ImageURL.maximumByteCount + 1

  /// How far from the start a zero byte betrays a file that is not text, among them all UTF-16.
  package static let inspectedByteCount = 4_096

  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
  private static let newline = UInt8(ascii: "\n")

  /// What the list is called in errors.
  private let name: String
  private var inspected = 0
  /// The first bytes of the list, while it is not known whether they are a byte order mark.
  private var opening: [UInt8] = []
  private var isOpened = false
  /// The start of a line whose end has not come, without the blanks in front of it and as far as it
  /// can make an entry.
  private var pending: [UInt8] = []
  /// Whether more than blanks came beyond what `pending` has room for.
  private var isPendingOverlong = false
  private var batch: [String] = []
  private var batchByteCount = 0

  package init(name: String) {
    self.name = name
  }

  /// Takes the next bytes of the list.
  ///
  /// - Returns: the batches they complete, in order, each within the limits of
  ///   ``SubmissionLines``.
  /// - Throws: ``ListError/notText(name:)``; the reader is of no use afterwards.
  package mutating func feed(_ chunk: [UInt8]) throws(ListError) -> [[String]] {
    try inspect(chunk)
    var batches: [[String]] = []
    cut(isOpened ? chunk[...] : open(with: chunk), &batches)
    return batches
  }

  /// The last batch, when all bytes were fed; none when nothing is left.
  package mutating func finish() -> [[String]] {
    var batches: [[String]] = []
    if !isOpened { cut(opening[...], &batches) }
    endLine(with: [], &batches)
    if !batch.isEmpty { batches.append(batch) }
    batch = []
    batchByteCount = 0
    return batches
  }

  /// Passes a byte order mark over.
  /// - Returns: what to read of the list so far; nothing while it is too short to tell.
  private mutating func open(with chunk: [UInt8]) -> ArraySlice<UInt8> {
    opening += chunk
    guard opening.count >= Self.byteOrderMark.count else { return [] }
    isOpened = true
    defer { opening = [] }
    return opening.starts(with: Self.byteOrderMark)
      ? opening.dropFirst(Self.byteOrderMark.count) : opening[...]
  }

  private mutating func cut(_ bytes: ArraySlice<UInt8>, _ batches: inout [[String]]) {
    var rest = bytes
    while let end = rest.firstIndex(of: Self.newline) {
      endLine(with: rest[..<end], &batches)
      rest = rest[(end + 1)...]
    }
    keep(rest)
  }

  private mutating func inspect(_ chunk: [UInt8]) throws(ListError) {
    guard inspected < Self.inspectedByteCount else { return }
    let head = chunk.prefix(Self.inspectedByteCount - inspected)
    guard !head.contains(0) else { throw .notText(name: name) }
    inspected += head.count
  }

  private mutating func endLine(with bytes: ArraySlice<UInt8>, _ batches: inout [[String]]) {
    if pending.isEmpty {
      addEntry(bytes, isOverlong: false, &batches)
    } else {
      keep(bytes)
      addEntry(pending[...], isOverlong: isPendingOverlong, &batches)
      pending.removeAll(keepingCapacity: true)
      isPendingOverlong = false
    }
  }

  /// Appends to the line that has not ended, as far as there is room.
  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    let bytes = pending.isEmpty ? bytes.drop(while: Self.isBlank) : bytes
    let room = Self.maximumEntryByteCount - pending.count
    pending += bytes.prefix(room)
    if !isPendingOverlong {
      isPendingOverlong = !bytes.dropFirst(room).allSatisfy(Self.isBlank)
    }
  }

  private mutating func addEntry(
    _ line: ArraySlice<UInt8>, isOverlong: Bool, _ batches: inout [[String]]
  ) {
    var text = line.drop(while: Self.isBlank)
    if !isOverlong {
      // The blanks at the end of what was kept of an overlong line stand in its middle.
      while let last = text.last, Self.isBlank(last) { text.removeLast() }
    }
    guard let first = text.first, first != UInt8(ascii: "#") else { return }
    let entry = String(decoding: text.prefix(Self.maximumEntryByteCount), as: UTF8.self)
    let byteCount = entry.utf8.count
    if batch.count == SubmissionLines.maximumCount
      || batchByteCount + byteCount > SubmissionLines.maximumByteCount
    {
      batches.append(batch)
      batch = []
      batch.reserveCapacity(SubmissionLines.maximumCount)
      batchByteCount = 0
    }
    batch.append(entry)
    batchByteCount += byteCount
  }

  /// Spaces, tabs, and what else ASCII has of white space; a CR ends the lines of some systems.
  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }
}
