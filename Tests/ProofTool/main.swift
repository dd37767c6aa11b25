import Glibc
import ImgSystem
import StoreProof

// A process of its own for the proofs of the store: see `ProofInvocation.usage`.

// Whoever started this one has ended when nobody reads what it says.
ThisProcess.ignoreBrokenPipe()
do {
  switch try ProofInvocation(Array(CommandLine.arguments.dropFirst())) {
  case .write(let writer): try writer.run()
  case .obey(let servant): try servant.run()
  case .soak(let soak): exit(try soak.run() ? 0 : 1)
  }
} catch {
  try? FileIO.writeAll(STDERR_FILENO, "imgprove: \(error)\n")
  exit(2)
}
