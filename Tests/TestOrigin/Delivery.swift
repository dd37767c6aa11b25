/// How the body of an answer goes out. Positions are body bytes.
package enum Delivery: Sendable, Hashable {
  /// At once, with its length declared.
  case whole

  /// At once, chunked, so that the client does not know the length.
  case chunked

  /// At this rate, in about twenty slices a second, with its length declared.
  case drip(bytesPerSecond: Int)

  /// The connection is closed in order after this many bytes: of the declared length, or in the
  /// middle of a chunked body.
  case cut(after: Int, declaresLength: Bool = true)

  /// The connection is reset (TCP RST) after this many bytes of the declared length.
  case reset(after: Int)

  /// Nothing more after this many bytes of the declared length until the path is released; then the
  /// rest. The position lies inside the body.
  case stall(after: Int)

  /// Nothing more after each of these many bytes, in ascending order, until that step of the path is
  /// released. They lie inside the body.
  case steps([Int])

  /// Nothing at all, not even the status line, until the path is released.
  case hold

  /// The whole body under this `Content-Length`, which is not its length; then an orderly close.
  case wrongLength(declared: Int)

  /// Chunked bytes that look like noise, until the client goes. The body is ignored.
  case endless
}

extension Delivery {
  /// What happens next, when the client can take more of a body.
  enum Step: Equatable {
    case send(byteCount: Int)
    case sendAfter(Duration, byteCount: Int)
    case sendAfterRelease(byteCount: Int, step: Int = 0)
    case end
    case breakOff
    case reset
  }

  /// The step at a position of a body.
  func step(at position: Int, of byteCount: Int, room: Int) -> Step {
    let slice = min(room, byteCount - position)
    switch self {
    case .whole, .chunked, .hold, .wrongLength:
      return slice == 0 ? .end : .send(byteCount: slice)
    case .drip(let bytesPerSecond):
      let dripped = min(slice, max(1, bytesPerSecond / 20))
      return .sendAfter(.seconds(1) * dripped / bytesPerSecond, byteCount: dripped)
    case .cut(let end, _):
      return position < end ? .send(byteCount: min(slice, end - position)) : .breakOff
    case .reset(let end):
      return position < end ? .send(byteCount: min(slice, end - position)) : .reset
    case .stall(let halt) where position < halt:
      return .send(byteCount: min(slice, halt - position))
    case .stall(let halt):
      return position == halt ? .sendAfterRelease(byteCount: slice) : .send(byteCount: slice)
    case .steps(let halts):
      let end = halts.first { $0 > position } ?? byteCount
      let part = min(slice, end - position)
      guard let step = halts.firstIndex(of: position) else { return .send(byteCount: part) }
      return .sendAfterRelease(byteCount: part, step: step)
    case .endless:
      return .send(byteCount: room)
    }
  }

  /// The length of a body of `byteCount` bytes if libmicrohttpd is to declare and keep it.
  func knownLength(of byteCount: Int) -> Int? {
    switch self {
    case .chunked, .endless, .cut(_, declaresLength: false), .wrongLength: nil
    default: byteCount
    }
  }

  /// How many releases of the path a client may have to wait for.
  var releaseCount: Int {
    switch self {
    case .hold, .stall: 1
    case .steps(let halts): halts.count
    default: 0
    }
  }
}
