// Loads a thumbnail whose picture this program fetches itself, and writes it to a file.
//
// usage: app-network URL FILE

import Foundation
import FoundationNetworking
import ImgClient

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
  print("usage: app-network URL FILE")
  exit(64)
}

let configuration = URLSessionConfiguration.ephemeral
configuration.httpAdditionalHeaders = ["User-Agent": "app-network"]
let network = URLSessionFetching(session: URLSession(configuration: configuration))
let client = ImageClient(transport: try ClusterTransport(fetching: network))
do {
  let image = try await client.image(for: arguments[1], size: 256)
  try Data(image.bytes).write(to: URL(fileURLWithPath: arguments[2]))
  print("\(image.format), \(image.width) x \(image.height), from \(image.origin)")
} catch {
  print(error)
  exit(1)
}
