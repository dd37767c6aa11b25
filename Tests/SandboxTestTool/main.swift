import Glibc
import ImgSystem

// Shows what each sandbox refuses, see `ToolInvocation.usage`.

do {
  switch try ToolInvocation(Array(CommandLine.arguments.dropFirst())) {
  case .attempts(let run): try run.run()
  case .attempt(let attempt, let lock, let scene):
    AttemptRun.perform(attempt, lock: lock, scene: scene)
  case .decode(let run): try run.run()
  case .lesserKernel(let kernel): try kernel.run()
  }
} catch {
  try? FileIO.writeAll(STDERR_FILENO, "imgsandboxtest: \(error)\n")
  _exit(2)
}
// Without the clean-up of exit(3), which could run into the threads of libvips.
_exit(0)
