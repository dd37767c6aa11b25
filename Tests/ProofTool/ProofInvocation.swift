import ImgSystem

/// What is wrong with the command line, as a sentence.
struct UsageError: Error, CustomStringConvertible {
  let description: String
}

/// What the process is to do.
enum ProofInvocation {
  case write(SteadyWriter)
  case obey(Servant)
  case soak(Soak)

  static let usage = """
    usage: imgprove write DIRECTORY BUDGET SEED FIRST-NUMBER COUNT FIRST-GENERATION
           imgprove obey DIRECTORY BUDGET
           imgprove soak DIRECTORY [--readers N] [--writers N] [--processes N] [--seed SEED]
                         [--seconds N | --operations N]
      write   carries out the plan of writing of a seed until it is killed, a byte on standard
              output for each step that has returned
      obey    carries out the steps on standard input, a line of JSON each, and answers each by one
      soak    readers and writers at once, all in each process, for some seconds or, each of them,
              some operations; tells what they did and what they found wrong
    """

  init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    switch rest.popFirst() {
    case "write":
      self = .write(
        SteadyWriter(
          directory: try Self.text(&rest), budgetByteCount: Int64(try Self.number(&rest)),
          seed: UInt64(try Self.number(&rest)), firstNumber: try Self.number(&rest),
          numberCount: try Self.number(&rest), firstGeneration: try Self.number(&rest)))
    case "obey":
      self = .obey(
        Servant(
          directory: try Self.text(&rest), budgetByteCount: Int64(try Self.number(&rest))))
    case "soak":
      self = .soak(try Self.soak(&rest))
    default:
      throw UsageError(description: "what is it to do?\n\(Self.usage)")
    }
    guard rest.isEmpty else {
      throw UsageError(description: "too much: \(rest.joined(separator: " "))\n\(Self.usage)")
    }
  }

  private static func soak(_ rest: inout ArraySlice<String>) throws(UsageError) -> Soak {
    var soak = Soak(directory: try text(&rest))
    while let flag = rest.popFirst() {
      let value = try number(&rest)
      switch flag {
      case "--readers": soak.readerCount = value
      case "--writers": soak.writerCount = value
      case "--processes": soak.processCount = value
      case "--first-writer": soak.firstWriter = value
      case "--seed": soak.seed = UInt64(value)
      case "--seconds": soak.extent = .seconds(value)
      case "--operations": soak.extent = .operations(value)
      default: throw UsageError(description: "\(flag) is not known\n\(Self.usage)")
      }
    }
    return soak
  }

  private static func text(_ rest: inout ArraySlice<String>) throws(UsageError) -> String {
    guard let text = rest.popFirst() else {
      throw UsageError(description: "something is missing\n\(Self.usage)")
    }
    return text
  }

  private static func number(_ rest: inout ArraySlice<String>) throws(UsageError) -> Int {
    let text = try text(&rest)
    guard let number = Int(text), number >= 0 else {
      throw UsageError(description: "\(text) is no number\n\(Self.usage)")
    }
    return number
  }
}
