import Glibc
import ImgCommands

// Measures the programs that were built beside it: see `BenchInvocation.usage`.

do {
  switch try BenchInvocation(Array(CommandLine.arguments.dropFirst())) {
  case .makePictures(let count, let directory):
    try Photograph.write(count: count, to: directory)
  case .makeSmallPictures(let count, let directory):
    try PhotographCuts().writeSmall(count: count, to: directory)
  case .measure(let options):
    try Bench(options).run()
  case .storeProcess(let process):
    try process.run()
  case .fetchProcess(let process):
    try process.run()
  case .loadProcess(let process):
    try process.run()
  case .nullWorker:
    try NullWorker().run()
  }
} catch {
  try Output(descriptor: 2, capacity: 0).write("imgbench: \(error)\n")
  exit(1)
}
