// Loads the thumbnails of a list, eight at a time, and counts them.
//
// usage: list-progress < URLS

import ImgClient

/// How the loads of a list ended.
struct Counts {
  var loaded = 0
  var failures: [String: Int] = [:]

  mutating func add(_ result: Result<LoadedImage, ImageError>) {
    switch result {
    case .success: loaded += 1
    case .failure(let error): failures[error.code.rawValue, default: 0] += 1
    }
  }
}

/// Loads an image. The group of tasks below takes results, so that one failure ends no other load.
func result(of url: String, by client: ImageClient) async -> Result<LoadedImage, ImageError> {
  do throws(ImageError) {
    return .success(try await client.image(for: url, size: 128))
  } catch {
    return .failure(error)
  }
}

let client = try ImageClient()
let counts = await withTaskGroup(of: Result<LoadedImage, ImageError>.self) { group in
  var counts = Counts()
  var started = 0
  while let url = readLine() {
    if started >= 8, let ended = await group.next() { counts.add(ended) }
    started += 1
    group.addTask { await result(of: url, by: client) }
  }
  for await ended in group { counts.add(ended) }
  return counts
}

print("loaded: \(counts.loaded)")
for (code, count) in counts.failures.sorted(by: { $0.key < $1.key }) { print("\(code): \(count)") }
