import ImgClient

let client = try ImageClient()
while let url = readLine() {
  let image = try await client.image(for: url, size: 128)
  print("\(url): \(image.width) x \(image.height)")
}
