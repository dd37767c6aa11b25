// The program behind scripts/api.
//
// usage: imgapi GRAPH             print the public declarations of a module
//        imgapi GRAPH BASELINE    print what differs from a list of them, and what has no doc comment

import APIComparison
import FoundationEssentials
import Glibc

let arguments = CommandLine.arguments.dropFirst()
guard let graphPath = arguments.first, arguments.count <= 2 else {
  print("usage: imgapi GRAPH [BASELINE]")
  exit(2)
}
let graph = try JSONDecoder().decode(
  SymbolGraph.self, from: try Data(contentsOf: URL(filePath: graphPath)))
let current = PublicAPI(graph)
guard let baselinePath = arguments.dropFirst().first else {
  print(current.text, terminator: "")
  exit(0)
}
let baseline = PublicAPI(text: try String(contentsOfFile: baselinePath, encoding: .utf8))
let comparison = APIComparison(from: baseline, to: current)
for change in comparison.breakingChanges { print("breaking: \(change)") }
for addition in comparison.additions { print("addition: \(addition)") }
for path in graph.undocumentedPaths { print("undocumented: \(path)") }
if !comparison.isEmpty || !graph.undocumentedPaths.isEmpty { exit(1) }
