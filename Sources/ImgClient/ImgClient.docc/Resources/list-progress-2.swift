import ImgClient

/// Loads an image, and tells how that ended.
func report(of url: String, by client: ImageClient) async -> String {
  do throws(ImageError) {
    let image = try await client.image(for: url, size: 128)
    return "\(image.width) x \(image.height)"
  } catch {
    return error.code.rawValue
  }
}

var urls: [String] = []
while let url = readLine() { urls.append(url) }

let client = try ImageClient()
await withTaskGroup(of: String.self) { group in
  var endedCount = 0
  for (index, url) in urls.enumerated() {
    if index >= 8, let report = await group.next() {
      endedCount += 1
      print("\(endedCount) of \(urls.count): \(report)")
    }
    group.addTask { await report(of: url, by: client) }
  }
  for await report in group {
    endedCount += 1
    print("\(endedCount) of \(urls.count): \(report)")
  }
}
