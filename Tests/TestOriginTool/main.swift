import FoundationEssentials
import Glibc
import TestOrigin

// The origin of the demonstration and of measurements: see `ToolInvocation.usage`.

let ending = EndSignal()
do {
  switch try ToolInvocation(Array(CommandLine.arguments.dropFirst())) {
  case .serve(let options):
    try OriginTool(options).run(until: ending)
  case .contactSheet(let directory, let output):
    try Data(ContactSheet(directory: directory).encoded()).write(to: URL(filePath: output))
  }
} catch let error as UsageError {
  complain("\(error.message)\n\(ToolInvocation.usage)")
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
