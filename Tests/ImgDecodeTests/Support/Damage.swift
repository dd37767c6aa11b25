import SeededRandom
import Testing

/// Ways in which a picture is damaged on its way: each changes what lies behind its first part, so
/// that its header stays.
enum Damage: String, CaseIterable, CustomTestStringConvertible, Sendable {
  /// The connection broke.
  case cut
  /// It broke, and a program that repairs files put an end marker behind it.
  case cutAndClosed
  /// A download that reserved the room for it did not go on.
  case restZeroed
  /// A block of the disk was lost, or a packet.
  case holeZeroed, holeDropped
  /// Bits in bad memory.
  case bitsFlipped

  var testDescription: String { rawValue }

  private static let endOfImage: [UInt8] = [0xFF, 0xD9]
  private static let holeByteCount = 512

  /// - Parameter picture: of some thousand bytes at least.
  func applied(to picture: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
    let part = picture.count / 4..<picture.count * 9 / 10
    let place = Int.random(in: part, using: &random)
    let hole = place..<min(place + Self.holeByteCount, picture.count * 19 / 20)
    let zeros = { (count: Int) in [UInt8](repeating: 0, count: count) }
    switch self {
    case .cut:
      return Array(picture[..<place])
    case .cutAndClosed:
      return picture[..<place] + Self.endOfImage
    case .restZeroed:
      return picture[..<place] + zeros(picture.count - place)
    case .holeZeroed:
      return picture[..<hole.lowerBound] + zeros(hole.count) + picture[hole.upperBound...]
    case .holeDropped:
      return Array(picture[..<hole.lowerBound] + picture[hole.upperBound...])
    case .bitsFlipped:
      var flipped = picture
      for _ in 0..<4 {
        flipped[Int.random(in: part, using: &random)] ^= 1 << Int.random(in: 0..<8, using: &random)
      }
      return flipped
    }
  }
}
