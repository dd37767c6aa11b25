// Loads a thumbnail, shows how it arrives, and writes it to a file.
//
// usage: one-picture URL FILE

import FoundationEssentials
import Glibc
import ImgClient

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
  print("usage: one-picture URL FILE")
  exit(64)
}

let client = try ImageClient()
for await phase in client.phases(for: arguments[1], size: 256) {
  switch phase {
  case .empty: break
  case .loading(let progress):
    print("\(progress.receivedByteCount) of \(progress.expectedByteCount ?? 0) bytes")
  case .preview(let preview):
    print("preview \(preview.number)")
  case .success(let image):
    try Data(image.bytes).write(to: URL(filePath: arguments[2]))
    print("\(image.format), \(image.width) x \(image.height), from \(image.origin)")
  case .failure(let error):
    print(error)
    exit(1)
  }
}
