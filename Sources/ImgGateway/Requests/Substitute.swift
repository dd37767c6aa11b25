package import ImgClient
import ImgHTTP
import ImgModel

/// What stands in for a picture: until it is there, or because it failed.
package enum Substitute: Hashable, Sendable {
  /// A drawing.
  case placeholder(ImagePlaceholder)
  /// The blurred picture of the ThumbHash that the store has of it; transparent if there is none.
  case thumbHash
  /// Another picture, as a thumbnail of the same variant.
  case picture(url: String)

  private static let textPrefix = "text:"
  /// Of a text, in letters. No picture has room for more.
  private static let maximumTextLength = 64

  /// Reads `blank`, the name of a symbol such as `photo`, a colour with `#`, `thumbhash`, `text:` and a text, or an
  /// address. A host without a dot, and one that is named `text`, needs its scheme.
  ///
  /// - Throws: 400 for an address that is none; 422 for another value that is none.
  init(_ value: OptionValue) throws(RequestRejection) {
    let text = value.text
    if text == "blank" {
      self = .placeholder(.none)
    } else if text == "thumbhash" {
      self = .thumbHash
    } else if let symbol = ImagePlaceholder.Symbol(rawValue: text) {
      self = .placeholder(.symbol(symbol))
    } else if text.hasPrefix("#") {
      self = .placeholder(.colour(try ColourText.colour(value)))
    } else if text.hasPrefix(Self.textPrefix) {
      self = .placeholder(.text(try Self.text(value)))
    } else {
      self = .picture(url: try Self.url(value))
    }
  }

  private static func text(_ value: OptionValue) throws(RequestRejection) -> String {
    let text = value.text.dropFirst(textPrefix.count)
    guard !text.isEmpty, text.utf8.count <= 4 * maximumTextLength, text.count <= maximumTextLength
    else { throw value.invalid("text: and 1 to \(maximumTextLength) letters") }
    return String(text)
  }

  private static func url(_ value: OptionValue) throws(RequestRejection) -> String {
    guard value.text.utf8.contains(where: { ".:/".utf8.contains($0) }) else {
      throw value.invalid(
        "blank, thumbhash, circle, cloud, person, photo, text:AB, a colour such as #eee, or an address such "
          + "as https://example.org/a.jpg")
    }
    return try SourceAddress.completed(value.text).text
  }
}

/// How long a request waits for its picture, and what it gets in its place then.
package struct PictureWait: Hashable, Sendable {
  /// From the request to its answer.
  package let limit: Duration
  package let substitute: Substitute

  /// In milliseconds. A proxy gives up after about as long.
  package static let range = 0...60_000

  package init(_ limit: Duration, then substitute: Substitute = .thumbHash) {
    self.limit = limit
    self.substitute = substitute
  }
}

/// The parameters of this server alone, `wait`, `placeholder` and `timeout`, in whatever form of a request.
struct WaitParameters {
  static let waitName = "wait"
  static let placeholderName = "placeholder"
  static let timeoutName = "timeout"
  static let names = [waitName, placeholderName, timeoutName]

  /// See ``ImageRequest/timeout``; `nil` for that of the server.
  private(set) var timeout: Duration?
  private var limit: Duration?
  private var substitute: Substitute?

  init() {}

  /// Reads them in a query that has others, too.
  ///
  /// - Throws: 400.
  init(_ parameters: QueryParameters) throws(RequestRejection) {
    if let text = parameters[Self.waitName] {
      try readWait(OptionValue(name: Self.waitName, text: text))
    }
    if let text = parameters[Self.placeholderName] {
      try readPlaceholder(OptionValue(name: Self.placeholderName, text: text))
    }
    if let text = parameters[Self.timeoutName] {
      try readTimeout(OptionValue(name: Self.timeoutName, text: text))
    }
  }

  /// - Throws: 400 for what is not a time of ``PictureWait/range``.
  mutating func readWait(_ value: OptionValue) throws(RequestRejection) {
    limit = try Self.time(value, in: PictureWait.range, from: "0, which waits for nothing,")
  }

  /// - Throws: 400 for what is not a time of ``timeoutRange``.
  mutating func readTimeout(_ value: OptionValue) throws(RequestRejection) {
    timeout = try Self.time(value, in: Self.timeoutRange, from: "1")
  }

  /// In milliseconds. The server's own limit counts, too.
  private static let timeoutRange = 1...86_400_000

  /// Reads whole milliseconds.
  ///
  /// - Parameter lowest: the least of the range, in words.
  /// - Throws: 400 for another text.
  private static func time(
    _ value: OptionValue, in range: ClosedRange<Int>, from lowest: String
  ) throws(RequestRejection) -> Duration {
    guard !value.isEmpty, value.text.utf8.allSatisfy(\.isDigit), let count = Int(value.text),
      range.contains(count)
    else {
      throw value.invalid("whole milliseconds from \(lowest) to \(range.upperBound)").asBadRequest
    }
    return .milliseconds(count)
  }

  /// - Throws: 400.
  mutating func readPlaceholder(_ value: OptionValue) throws(RequestRejection) {
    do throws(RequestRejection) {
      substitute = try Substitute(value)
    } catch {
      throw error.asBadRequest
    }
  }

  /// - Returns: `nil` for a request that waits until the picture is there or has failed.
  /// - Throws: 400 for a placeholder that nothing leads to.
  func wait() throws(RequestRejection) -> PictureWait? {
    guard let limit else {
      guard substitute == nil else {
        throw RequestRejection.invalidOption(
          Self.placeholderName,
          "needs the option \(Self.waitName), after whose time it is sent; add it, such as \(Self.waitName)=0"
        ).asBadRequest
      }
      return nil
    }
    return PictureWait(limit, then: substitute ?? .thumbHash)
  }
}

extension RequestRejection {
  /// The same for a parameter that chooses no picture, so that there is no content to be processed.
  fileprivate var asBadRequest: RequestRejection {
    RequestRejection(.badRequest, code: code, message)
  }
}
