/// Which frames of an animation, or pages of a document, a thumbnail shows. Of a still picture, all
/// but a later number select the picture.
package enum FrameSelection: Hashable, Sendable {
  case first
  /// One frame, counted from 0.
  case number(Int)
  /// The frame that is shown so many milliseconds after the start; after the end, the last one.
  case time(Int)
  /// The first frame that does not have one colour only; the first frame if all have.
  case poster
  /// All frames, so that the thumbnail is an animation.
  case all

  package static let numberRange = 0...999_999
  /// In milliseconds; one day.
  package static let timeRange = 0...86_400_000

  var isInRange: Bool {
    switch self {
    case .first, .poster, .all: true
    case .number(let number): Self.numberRange.contains(number)
    case .time(let milliseconds): Self.timeRange.contains(milliseconds)
    }
  }

  /// See ``Variant/canonicalText``; `nil` for the default.
  var canonicalText: String? {
    switch self {
    case .first: nil
    case .number(let number): "frame=\(number)"
    case .time(let milliseconds): "at=\(milliseconds)"
    case .poster: "poster"
    case .all: "animated"
    }
  }
}
