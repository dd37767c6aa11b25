import ImgClient

let client = try ImageClient()
let image = try await client.image(for: CommandLine.arguments[1], size: 256)
print("\(image.format), \(image.width) x \(image.height), from \(image.origin)")
