import ImgModel
import SeededRandom
import TestOrigin
import TestPictures

/// An origin whose every third response is a refusal, a Retry-After, a reset or a stall, as a
/// seed has it, until it gives the picture.
struct HostileOrigin {
  enum Answer: CaseIterable {
    /// 503, which does not say for how long.
    case unavailable
    /// 429 with Retry-After.
    case retryAfter
    /// The connection is reset within the picture.
    case reset
    /// Within the picture nothing more comes.
    case stall
    case picture
  }

  static let retryAfterSeconds = 1
  /// Which part of a picture comes before a reset or a stall: enough to be kept, and so little that
  /// what breaks off again and again is hardly ever whole before its turn.
  private static let part = 4
  /// A picture takes some time, so that transfers meet.
  private static let bytesPerSecond = 10_000_000

  let origin: TestOrigin
  /// The answers to the requests for each picture, in their order; the last one is the picture.
  let answers: [[Answer]]

  init(seed: UInt64, pictureCount: Int) throws {
    var generator = SeededGenerator(seed: seed)
    let answers = (0..<pictureCount).map { _ in Self.answers(using: &generator) }
    let maker = try PictureMaker.start()
    let bodies = try (0..<8).map { try maker.noise(seed: $0, width: 640, height: 480) }
    origin = try TestOrigin { path, _ in
      guard let number = Int(path.dropFirst()), answers.indices.contains(number) else { return nil }
      return .sequence(
        answers[number].map { Self.behaviour($0, body: bodies[number % bodies.count]) })
    }
    self.answers = answers
  }

  var urls: [String] { answers.indices.map { "\(origin.baseURL)/\($0)" } }

  /// Of the requests in the origin's log, in their order: what each was answered.
  func answered(in snapshot: OriginSnapshot) -> [(request: OriginEvent, answer: Answer)] {
    var counts: [String: Int] = [:]
    return snapshot.starts().compactMap { event in
      guard let number = Int(event.path.dropFirst()), answers.indices.contains(number) else {
        return nil
      }
      let count = counts[event.path, default: 0]
      counts[event.path] = count + 1
      return (event, answers[number][min(count, answers[number].count - 1)])
    }
  }

  private static func answers(using generator: inout SeededGenerator) -> [Answer] {
    var answers: [Answer] = []
    let bad = Answer.allCases.filter { $0 != .picture }
    while Int.random(in: 0..<3, using: &generator) == 0 {
      answers.append(bad[Int.random(in: bad.indices, using: &generator)])
    }
    return answers + [.picture]
  }

  private static func behaviour(_ answer: Answer, body: [UInt8]) -> Behaviour {
    switch answer {
    case .unavailable: .status(503)
    case .retryAfter: .status(429, retryAfter: "\(retryAfterSeconds)")
    case .reset: picture(body, .reset(after: body.count / part))
    case .stall: picture(body, .stall(after: body.count / part))
    case .picture: picture(body, .drip(bytesPerSecond: bytesPerSecond))
    }
  }

  private static func picture(_ body: [UInt8], _ delivery: Delivery) -> Behaviour {
    .resource(Resource(body, entityTag: "\"\(body.count)\"", delivery: delivery))
  }
}
