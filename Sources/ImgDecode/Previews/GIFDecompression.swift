/// Decompresses the colour indexes of a GIF's frame (GIF89a appendix F), as far as they are there.
struct GIFDecompression {
  /// Codes have at most 12 bits.
  private static let codeMaximum = 4_096
  private static let widthMaximum = 12

  private var codes: GIFCodes
  /// Bits of an index.
  private let indexWidth: Int
  private let clearCode: Int
  /// Bits of the next code.
  private var codeWidth: Int
  /// The code that the next sequence gets.
  private var nextCode: Int
  /// The code before; `nil` after a clear code.
  private var previous: Int?
  private var firstIndex: UInt8 = 0
  /// A sequence is that of another code and one more index.
  private var prefixes = [UInt16](repeating: 0, count: codeMaximum)
  private var lastIndexes = [UInt8](repeating: 0, count: codeMaximum)
  private(set) var indexes: [UInt8] = []

  /// Decompresses as many indexes as there are, at most so many.
  ///
  /// - Parameter offset: of the byte with the width of an index, in front of the sub-blocks.
  /// - Throws: ``DecodeError/corrupt(_:)`` for a width that no index has.
  static func indexes(
    in input: PictureInput, at offset: Int, upTo maximumCount: Int
  ) throws(DecodeError) -> [UInt8] {
    guard let width = input.bytes(at: offset, upTo: 1).first, (1...8).contains(width) else {
      throw .corrupt("its indexes have no width")
    }
    var decompression = GIFDecompression(
      GIFCodes(input, at: offset + 1), indexWidth: Int(width))
    decompression.run(upTo: maximumCount)
    return Array(decompression.indexes.prefix(maximumCount))
  }

  private init(_ codes: GIFCodes, indexWidth: Int) {
    self.codes = codes
    self.indexWidth = indexWidth
    clearCode = 1 << indexWidth
    codeWidth = indexWidth + 1
    nextCode = clearCode + 2
  }

  private var endCode: Int { clearCode + 1 }

  private mutating func run(upTo maximumCount: Int) {
    while indexes.count < maximumCount, let code = codes.next(width: codeWidth), code != endCode {
      if code == clearCode {
        codeWidth = indexWidth + 1
        nextCode = clearCode + 2
        previous = nil
      } else if !take(code) {
        return
      }
    }
  }

  /// - Returns: `false` for a code that has no sequence.
  private mutating func take(_ code: Int) -> Bool {
    guard let previous else {
      guard code < clearCode else { return false }
      firstIndex = UInt8(code)
      indexes.append(firstIndex)
      self.previous = code
      return true
    }
    guard code <= nextCode else { return false }
    append(code, after: previous)
    define(previous)
    self.previous = code
    return true
  }

  /// Appends the sequence of a code. That of the next code is the previous one and its first index.
  private mutating func append(_ code: Int, after previous: Int) {
    let start = indexes.count
    var current = code
    if code == nextCode {
      indexes.append(firstIndex)
      current = previous
    }
    while current >= clearCode {
      indexes.append(lastIndexes[current])
      current = Int(prefixes[current])
    }
    firstIndex = UInt8(current)
    indexes.append(firstIndex)
    indexes[start...].reverse()
  }

  private mutating func define(_ previous: Int) {
    guard nextCode < Self.codeMaximum else { return }
    prefixes[nextCode] = UInt16(previous)
    lastIndexes[nextCode] = firstIndex
    nextCode += 1
    if nextCode == 1 << codeWidth, codeWidth < Self.widthMaximum { codeWidth += 1 }
  }
}
