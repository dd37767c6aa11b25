import FoundationEssentials
import Glibc
import ImgSystem
import StoreProof

/// Does with a store what it is told, step by step.
struct Servant {
  let directory: String
  let budgetByteCount: Int64

  func run() throws {
    var store = try SteppedStore(directory: directory, budgetByteCount: budgetByteCount)
    while let line = readLine() {
      switch try JSONDecoder().decode(ServantOrder.self, from: Data(line.utf8)) {
      case .step(let step):
        try answer(.done(store.take(step)))
      case .hold(let number):
        let isHeld = try store.opened().holdSnapshot(with: number, at: 0) {
          // Held until the next line, or the end of the input.
          try? answer(.done(StepAnswer()))
          _ = readLine()
        }
        try answer(isHeld ? .done(StepAnswer()) : .failed("there is no picture \(number)"))
      }
    }
  }

  private func answer(_ answer: @autoclosure () throws -> ServantAnswer) throws {
    let told: ServantAnswer
    do { told = try answer() } catch { told = .failed("\(error)") }
    let line = String(decoding: try JSONEncoder().encode(told), as: UTF8.self)
    try FileIO.writeAll(STDOUT_FILENO, line + "\n")
  }
}
