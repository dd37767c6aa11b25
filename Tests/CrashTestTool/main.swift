import Glibc
import ImgSystem
import StoreCrashSupport

// The child process of the crash tests of the store, see `ToolInvocation.usage`.

// If standard output is closed, the parent has ended.
ThisProcess.ignoreBrokenPipe()
do {
  switch try ToolInvocation(Array(CommandLine.arguments.dropFirst())) {
  case .write(let writer): try writer.run()
  case .serve(let loop): try loop.run()
  case .soak(let soak): exit(try soak.run() ? 0 : 1)
  }
} catch {
  try? FileIO.writeAll(STDERR_FILENO, "imgcrashtest: \(error)\n")
  exit(2)
}
