import ImgClient

let client = try ImageClient()
while let url = readLine() {
  do {
    let image = try await client.image(for: url, size: 128)
    print("\(url): \(image.width) x \(image.height)")
  } catch {
    print("\(url): \(error)")
  }
}
