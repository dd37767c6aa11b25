/// What is wrong with the command line, as a sentence.
struct UsageError: Error {
  let message: String
}

/// What the command line asks for.
enum ToolInvocation {
  case serve(ServeOptions)

  /// Writes one PNG that shows every picture of a directory.
  case contactSheet(directory: String, output: String)

  static let usage = """
    usage: testorigin [--port N] [--pictures N] [--size WxH] [--not-found-every K]
                      [--not-image-every K] [--directory DIR] [--print-urls FILE]
                      [--until-stdin-closes]
           testorigin contact-sheet DIR OUT.png
    """

  init(_ arguments: [String]) throws(UsageError) {
    if arguments.first == "contact-sheet" {
      guard arguments.count == 3 else {
        throw UsageError(message: "contact-sheet takes a directory and a file")
      }
      self = .contactSheet(directory: arguments[1], output: arguments[2])
    } else {
      self = .serve(try ServeOptions(arguments))
    }
  }
}

/// What is served, where and how long.
struct ServeOptions {
  private(set) var port: UInt16 = 0
  private(set) var pictureCount = 0
  private(set) var width = 320
  private(set) var height = 240

  /// Every so many-th picture is a 404, a text; nil for none.
  private(set) var notFoundInterval: Int?
  private(set) var notImageInterval: Int?

  private(set) var directory: String?
  private(set) var urlListPath: String?
  private(set) var endsWithStandardInput = false

  init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    while let flag = rest.popFirst() {
      switch flag {
      case "--port": port = UInt16(try Self.number(of: flag, in: &rest, 0...65_535))
      case "--pictures": pictureCount = try Self.number(of: flag, in: &rest, 0...10_000_000)
      case "--size": (width, height) = try Self.size(of: flag, in: &rest)
      case "--not-found-every": notFoundInterval = try Self.number(of: flag, in: &rest, 1...Int.max)
      case "--not-image-every": notImageInterval = try Self.number(of: flag, in: &rest, 1...Int.max)
      case "--directory": directory = try Self.value(of: flag, in: &rest)
      case "--print-urls": urlListPath = try Self.value(of: flag, in: &rest)
      case "--until-stdin-closes": endsWithStandardInput = true
      default: throw UsageError(message: "\(flag) is not known")
      }
    }
  }

  private static func value(
    of flag: String, in rest: inout ArraySlice<String>
  ) throws(UsageError) -> String {
    guard let value = rest.popFirst() else { throw UsageError(message: "\(flag) needs a value") }
    return value
  }

  private static func number(
    of flag: String, in rest: inout ArraySlice<String>, _ range: ClosedRange<Int>
  ) throws(UsageError) -> Int {
    let text = try value(of: flag, in: &rest)
    guard let number = Int(text), range.contains(number) else {
      throw UsageError(message: "\(flag): \(text) is not a number within its limits")
    }
    return number
  }

  private static func size(
    of flag: String, in rest: inout ArraySlice<String>
  ) throws(UsageError) -> (width: Int, height: Int) {
    let text = try value(of: flag, in: &rest)
    let sides = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
    guard sides.count == 2, sides.allSatisfy((1...10_000).contains) else {
      throw UsageError(message: "\(flag): \(text) is not a size such as 640x480")
    }
    return (sides[0], sides[1])
  }
}
