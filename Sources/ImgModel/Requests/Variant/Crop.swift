/// Which part of a picture is kept where it covers more than the box.
package enum Crop: Hashable, Sendable {
  case centre
  /// The part that people look at first: skin, saturated colours, edges.
  case attention
  /// The part with the most detail.
  case entropy
  /// The part around a point, as far as the picture has one there. From 0, the left or the upper
  /// edge, to 1, the right or the lower edge.
  case point(x: Thousandths, y: Thousandths)

  /// The range of a coordinate.
  package static let coordinateRange = Thousandths.zero...Thousandths.one
}

extension Crop: LosslessStringConvertible {
  /// Reads `centre`, `attention`, `entropy` or a point such as `0.5,0.25`.
  package init?(_ text: String) {
    switch text {
    case "centre", "center": self = .centre
    case "attention": self = .attention
    case "entropy": self = .entropy
    default:
      let parts = text.split(separator: ",", omittingEmptySubsequences: false)
      let numbers = parts.compactMap { Thousandths(String($0)) }
      guard parts.count == 2, numbers.count == 2,
        numbers.allSatisfy(Self.coordinateRange.contains)
      else { return nil }
      self = .point(x: numbers[0], y: numbers[1])
    }
  }

  package var description: String {
    switch self {
    case .centre: "centre"
    case .attention: "attention"
    case .entropy: "entropy"
    case .point(let x, let y): "\(x),\(y)"
    }
  }
}
