import FoundationEssentials
import Glibc
import ImgSystem
import StoreCrashSupport

/// An error in the command line, as a sentence.
struct UsageError: Error, CustomStringConvertible {
  let description: String
}

/// The parsed command line.
enum ToolInvocation {
  case write(SteadyWriter)
  case serve(CommandLoop)
  case soak(Soak)

  static let usage = """
    usage: imgcrashtest write DIRECTORY BUDGET SEED FIRST-NUMBER COUNT FIRST-GENERATION
           imgcrashtest serve DIRECTORY BUDGET
           imgcrashtest soak DIRECTORY [--readers N] [--writers N] [--processes N] [--seed SEED]
                         [--seconds N | --operations N]
      write   performs the writes of a seed until it is killed, and prints a byte on standard
              output after each step
      serve   performs the steps on standard input, one line of JSON each, and prints a reply to each
      soak    runs concurrent readers and writers in each process, for some seconds or a number of
              operations each, and reports what they did and which errors they found
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
    case "serve":
      self = .serve(
        CommandLoop(
          directory: try Self.text(&rest), budgetByteCount: Int64(try Self.number(&rest))))
    case "soak":
      self = .soak(try Self.soak(&rest))
    default:
      throw UsageError(description: "no command given\n\(Self.usage)")
    }
    guard rest.isEmpty else {
      throw UsageError(
        description: "unexpected arguments: \(rest.joined(separator: " "))\n\(Self.usage)")
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
      default: throw UsageError(description: "\(flag) is unknown\n\(Self.usage)")
      }
    }
    return soak
  }

  private static func text(_ rest: inout ArraySlice<String>) throws(UsageError) -> String {
    guard let text = rest.popFirst() else {
      throw UsageError(description: "an argument is missing\n\(Self.usage)")
    }
    return text
  }

  private static func number(_ rest: inout ArraySlice<String>) throws(UsageError) -> Int {
    let text = try text(&rest)
    guard let number = Int(text), number >= 0 else {
      throw UsageError(description: "\(text) is not a number\n\(Self.usage)")
    }
    return number
  }
}

/// Performs the commands of the parent process on a store.
struct CommandLoop {
  let directory: String
  let budgetByteCount: Int64

  func run() throws {
    var store = try SteppedStore(directory: directory, budgetByteCount: budgetByteCount)
    while let line = readLine() {
      switch try JSONDecoder().decode(ChildCommand.self, from: Data(line.utf8)) {
      case .step(let step):
        try answer(.done(store.take(step)))
      case .hold(let number):
        let isHeld = try store.opened().holdSnapshot(with: number, at: 0) {
          // Holds it until the next line or the end of the input.
          try? answer(.done(StepAnswer()))
          _ = readLine()
        }
        try answer(isHeld ? .done(StepAnswer()) : .failed("no picture \(number)"))
      }
    }
  }

  private func answer(_ answer: @autoclosure () throws -> ChildReply) throws {
    let told: ChildReply
    do { told = try answer() } catch { told = .failed("\(error)") }
    let line = String(decoding: try JSONEncoder().encode(told), as: UTF8.self)
    try FileIO.writeAll(STDOUT_FILENO, line + "\n")
  }
}

/// Writes without end until the parent process kills it: whatever was reported before
/// the kill is in the store.
struct SteadyWriter {
  let directory: String
  let budgetByteCount: Int64
  let seed: UInt64
  let firstNumber: Int
  let numberCount: Int
  let firstGeneration: Int

  func run() throws {
    var plan = StorePlan(
      .writing, seed: seed, numbers: firstNumber..<firstNumber + numberCount,
      firstGeneration: firstGeneration)
    var store = try SteppedStore(directory: directory, budgetByteCount: budgetByteCount)
    // The first byte tells that the store is open.
    while true {
      try FileIO.writeAll(STDOUT_FILENO, ".")
      _ = try store.take(plan.next())
    }
  }
}
