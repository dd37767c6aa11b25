import Glibc
import ImgSystem
import StoreCrashSupport

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
