import ImgHTTP
import ImgModel

/// The answer to a request without conditions, for as long as each field of it is true.
struct TimedAnswer {
  let response: RepeatedResponse
  private let validity: Range<WallTime>

  /// - Parameters:
  ///   - response: made at `now`.
  ///   - end: when the image must be compared with the store.
  init(_ response: HTTPResponse, of image: PreparedImage, from now: WallTime, until end: WallTime) {
    self.response = RepeatedResponse(response)
    var end = end
    if let storedAt = image.storedAt {
      // The age of the image is told in whole seconds.
      let age = max(0, storedAt.duration(to: now).components.seconds)
      end = min(end, storedAt.advanced(by: .seconds(age + 1)))
    }
    validity = now..<max(now, end)
  }

  func isValid(at now: WallTime) -> Bool {
    validity.contains(now)
  }

  /// The bytes of its body.
  var byteCount: Int {
    if case .bytes(let body) = response.response.body { body.count } else { 0 }
  }
}
