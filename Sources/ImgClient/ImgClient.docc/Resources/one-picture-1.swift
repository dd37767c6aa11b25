import Glibc
import ImgClient

let arguments = CommandLine.arguments
guard arguments.count == 2 else {
  print("usage: one-picture URL")
  exit(64)
}

do {
  let client = try ImageClient()
  let image = try await client.image(for: arguments[1], size: 256)
  print("\(image.format), \(image.width) x \(image.height), from \(image.origin)")
} catch {
  print(error)
}
