import FoundationEssentials
import Glibc
import TestOrigin

// The origin of the demonstration and of measurements: see `ServeOptions.usage`.

let ending = EndSignal()
do {
  let options = try ServeOptions(Array(CommandLine.arguments.dropFirst()))
  try OriginTool(options).run(until: ending)
} catch let error as UsageError {
  complain("\(error.message)\n\(ServeOptions.usage)")
  exit(2)
} catch OriginError.cannotListen(let port) {
  complain("cannot listen on port \(port): another program may listen there")
  exit(1)
} catch {
  complain("\(error)")
  exit(1)
}

func complain(_ text: String) {
  let line = Array("testorigin: \(text)\n".utf8)
  _ = unsafe write(STDERR_FILENO, line, line.count)
}
