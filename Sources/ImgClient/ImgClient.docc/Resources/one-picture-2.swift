import FoundationEssentials
import Glibc
import ImgClient

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
  print("usage: one-picture URL FILE")
  exit(64)
}

do {
  let client = try ImageClient()
  let image = try await client.image(for: arguments[1], size: 256)
  try Data(image.bytes).write(to: URL(filePath: arguments[2]))
  print("\(image.format), \(image.width) x \(image.height), from \(image.origin)")
} catch {
  print(error)
}
