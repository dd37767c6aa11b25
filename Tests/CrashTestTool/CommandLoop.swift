import FoundationEssentials
import Glibc
import ImgSystem
import StoreCrashSupport

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
