import SeededRandom

/// A thumbnail that can be told from every other by its bytes alone: they begin with its number and
/// its generation, and the rest follows from these.
package struct Picture: Hashable, Codable, Sendable {
  /// Names it: what is put later under the same number takes its place.
  package let number: Int
  /// Which of all that were ever put under the number.
  package let generation: Int
  package let byteCount: Int
  /// In seconds of the clock, see ``PictureStore``.
  package let expiresAt: Int

  /// An expiry that the clock never reaches.
  package static let never = 1_000_000
  package static let minimumByteCount = 16
  private static let blockWordCount = 32

  package init(number: Int, generation: Int, byteCount: Int, expiresAt: Int = never) {
    precondition(byteCount >= Self.minimumByteCount, "too short to tell who it is")
    self.number = number
    self.generation = generation
    self.byteCount = byteCount
    self.expiresAt = expiresAt
  }

  /// What bytes that were found under a number are; of an impossible generation when they are not,
  /// to the last one, those of a picture of that number.
  package init(number: Int, recognising bytes: [UInt8], expiresAt: Int) {
    let stated = bytes.dropFirst(8).prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    let candidate = Picture(
      number: number, generation: Int(truncatingIfNeeded: stated),
      byteCount: max(bytes.count, Self.minimumByteCount), expiresAt: expiresAt)
    self = candidate.bytes == bytes ? candidate : .unrecognised(number, expiresAt: expiresAt)
  }

  /// Something under this number that is no picture of it.
  package static func unrecognised(_ number: Int, expiresAt: Int) -> Picture {
    Picture(
      number: number, generation: -1, byteCount: Self.minimumByteCount, expiresAt: expiresAt)
  }

  package func expiring(at expiresAt: Int) -> Picture {
    Picture(number: number, generation: generation, byteCount: byteCount, expiresAt: expiresAt)
  }

  /// A block of pseudo-random words, repeated: cheap to make also without optimisation.
  package var bytes: [UInt8] {
    var random = SeededGenerator(seed: UInt64(truncatingIfNeeded: number &* 1_000_003 ^ generation))
    var block: [UInt8] = []
    for index in 0..<Self.blockWordCount {
      let word =
        switch index {
        case 0: UInt64(truncatingIfNeeded: number)
        case 1: UInt64(truncatingIfNeeded: generation)
        default: random.next()
        }
      for shift in stride(from: 0, to: 64, by: 8) {
        block.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
      }
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount)
    while bytes.count + block.count <= byteCount { bytes.append(contentsOf: block) }
    bytes.append(contentsOf: block.prefix(byteCount - bytes.count))
    return bytes
  }
}
