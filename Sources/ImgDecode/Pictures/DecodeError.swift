import ImgFacts
import ImgModel

/// Why a picture cannot be decoded, with what the library says of it, for people.
enum DecodeError: Error {
  /// Its bytes are not what the format demands, or some are missing.
  case corrupt(String)
  /// No damage was found, and a feature of it is not decoded.
  case unsupported(String)
  /// It is an animation, and at most one of its frames can be decoded.
  case unsupportedAnimation(String)
  /// It has no frame of that number.
  case noFrame(Int, count: Int)
  /// It needs more memory than the process may have.
  case outOfMemory
  /// It was decoded, and its thumbnail cannot be encoded.
  case unencodable(String)

  func failure(within limits: Limits) -> Failure {
    switch self {
    case .corrupt(let detail):
      Failure(stage: .decode, code: .corruptImage, detail: detail)
    case .unsupported(let feature):
      Failure(stage: .decode, code: .unsupportedFormat, detail: "\(feature) is not decoded")
    case .unsupportedAnimation(let feature):
      Failure(
        stage: .decode, code: .unsupportedAnimation,
        detail: "\(feature) is not decoded")
    case .noFrame(let number, let count):
      Failure(
        stage: .decode, code: .frameOutOfRange,
        detail: "frame \(number) does not exist: the picture has "
          + (count == 1 ? "1 frame, numbered 0" : "\(count) frames, numbered 0 to \(count - 1)"))
    case .outOfMemory:
      .outOfMemory(decoderMemory: limits.decoderMemoryByteCount)
    case .unencodable(let detail):
      Failure(stage: .decode, code: .internal, detail: detail)
    }
  }
}

extension DecodeError {
  init(_ error: FactsError) {
    self =
      switch error {
      case .needsBytes, .truncated: .corrupt("the file ends before its last frame does")
      case .invalid(let reason), .notAnImage(let reason): .corrupt(reason)
      case .unsupported(let feature): .unsupported(feature)
      }
  }

  init(_ error: VipsError) {
    self = error.isOutOfMemory ? .outOfMemory : .corrupt(error.description)
  }
}
