import ImgModel
import Synchronization

/// The decoded pixels of an image: 8 bits a sample, in sRGB, upright.
///
/// The samples of a pixel are red, green, blue and alpha, in this order. The colours are not multiplied by
/// alpha. Rows follow each other from the top, without gaps.
public struct ImagePixels: Hashable, Sendable {
  /// One pixel.
  public struct Pixel: Hashable, Sendable {
    /// The share of red, 0 to 255.
    public let red: UInt8
    /// The share of green, 0 to 255.
    public let green: UInt8
    /// The share of blue, 0 to 255.
    public let blue: UInt8
    /// The opacity, from 0, invisible, to 255, opaque.
    public let alpha: UInt8

    /// A pixel from its samples.
    public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = .max) {
      self.red = red
      self.green = green
      self.blue = blue
      self.alpha = alpha
    }

    /// An opaque pixel of a colour.
    public init(_ colour: RGBColour) {
      self.init(red: colour.red, green: colour.green, blue: colour.blue)
    }
  }

  /// The samples of a pixel: red, green, blue, alpha.
  public static let samplesPerPixel = 4

  /// The width in pixels.
  public let width: Int
  /// The height in pixels.
  public let height: Int
  /// The samples of all pixels.
  public let bytes: [UInt8]

  /// Pixels from their samples.
  ///
  /// - Returns: `nil` if a side is not positive, or `bytes` has another size than the pixels.
  public init?(width: Int, height: Int, bytes: [UInt8]) {
    guard let byteCount = Self.byteCount(width: width, height: height), bytes.count == byteCount
    else { return nil }
    self.width = width
    self.height = height
    self.bytes = bytes
  }

  /// Pixels that are all equal.
  ///
  /// - Returns: `nil` if a side is not positive.
  public init?(width: Int, height: Int, filledWith pixel: Pixel) {
    guard let byteCount = Self.byteCount(width: width, height: height) else { return nil }
    let samples = [pixel.red, pixel.green, pixel.blue, pixel.alpha]
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount)
    while bytes.count < byteCount { bytes += samples }
    self.init(width: width, height: height, bytes: bytes)
  }

  /// - Returns: `nil` if no pixels have that size.
  private static func byteCount(width: Int, height: Int) -> Int? {
    guard width > 0, height > 0 else { return nil }
    let (area, isTooLarge) = width.multipliedReportingOverflow(by: height)
    let (count, isOverflow) = area.multipliedReportingOverflow(by: samplesPerPixel)
    return isTooLarge || isOverflow ? nil : count
  }

  /// A pixel by its distance from the left edge and from the top edge.
  ///
  /// - Precondition: both are inside the image.
  public subscript(x: Int, y: Int) -> Pixel {
    precondition((0..<width).contains(x) && (0..<height).contains(y), "a pixel inside the image")
    let start = (y * width + x) * Self.samplesPerPixel
    return Pixel(
      red: bytes[start], green: bytes[start + 1], blue: bytes[start + 2], alpha: bytes[start + 3])
  }

  /// The samples of a row, counted from the top.
  ///
  /// - Precondition: the row is inside the image.
  public func row(_ y: Int) -> ArraySlice<UInt8> {
    precondition((0..<height).contains(y), "a row inside the image")
    let byteCount = width * Self.samplesPerPixel
    return bytes[(y * byteCount)..<((y + 1) * byteCount)]
  }

  /// Whether no pixel is transparent, not even partly.
  public var isOpaque: Bool {
    stride(from: Self.samplesPerPixel - 1, to: bytes.count, by: Self.samplesPerPixel)
      .allSatisfy { bytes[$0] == .max }
  }
}

/// An image is decoded by an upload without a URL. The pixels come back in a sealed memory file.
extension ImagePixels {
  /// The whole frame in its own size.
  ///
  /// - Parameter frame: see ``ImageClient/pixels(of:frame:)``.
  /// - Throws: ``ImageError/Code/frameOutOfRange``.
  static func variant(showing frame: Int) throws(ImageError) -> Variant {
    let side = ImageVariant.sideRange.upperBound
    return try rethrowing(
      try Variant(
        ImageVariant(width: side, height: side, frames: frame == 0 ? .first : .number(frame)))
    ) { (error: VariantError) in ImageError(code: .frameOutOfRange, message: "\(error)") }
  }

  /// The pixels that the upload has made.
  init(_ result: GetResult) throws(ImageError) {
    switch result.outcome {
    case .cancelled: throw .cancelled(nil)
    case .failed(let failure, _): throw ImageError(failure, url: nil)
    case .done(let thumbnail, _, _):
      guard let made = result.uncached,
        let pixels = ImagePixels(
          width: thumbnail.width, height: thumbnail.height, bytes: made.bytes)
      else { throw ImageError(ClientError.unexpectedReply, url: nil) }
      self = pixels
    }
  }
}

/// Lets a few tasks at a time do something. Further ones wait in the order in which they came.
final class ConcurrencyLimit: Sendable {
  private struct Waiter {
    let number: UInt64
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var freeCount: Int
    var lastNumber: UInt64 = 0
    var waiters: [Waiter] = []
  }

  private let state: Mutex<State>

  /// - Parameter count: the tasks that may go on at the same time.
  init(_ count: Int) {
    state = Mutex(State(freeCount: count))
  }

  /// Waits until the task may go on; it calls ``leave()`` when it is done.
  ///
  /// - Returns: `false` if the task was cancelled before. It may not go on then.
  func enter() async -> Bool {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mayEnter = state.withLock { state -> Bool? in
          if Task.isCancelled { return false }
          guard state.freeCount == 0 else {
            state.freeCount -= 1
            return true
          }
          state.waiters.append(Waiter(number: number, continuation: continuation))
          return nil
        }
        if let mayEnter { continuation.resume(returning: mayEnter) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
      }
      waiter?.continuation.resume(returning: false)
    }
  }

  /// A task that had entered is done.
  func leave() {
    let next = state.withLock { state -> Waiter? in
      guard !state.waiters.isEmpty else {
        state.freeCount += 1
        return nil
      }
      return state.waiters.removeFirst()
    }
    next?.continuation.resume(returning: true)
  }
}
