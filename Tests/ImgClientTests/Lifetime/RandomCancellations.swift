import ImgClient
import SeededRandom

/// Loads that are cancelled at random moments. A seed replays which ones.
struct RandomCancellations {
  /// What each load tells at its end: as many last phases as it had.
  private(set) var ends: [(url: String, ends: [ImagePhase])] = []

  /// Begins loads, cancels some of them while others begin, and at last all.
  ///
  /// - Parameter urls: each load picks one. Half of the loads wait for the image, the others read phases.
  init(of count: Int, among urls: [String], by client: ImageClient, seed: UInt64) async {
    var random = SeededGenerator(seed: seed)
    var loads: [(url: String, task: Task<[ImagePhase], Never>)] = []
    for _ in 0..<count {
      let url = urls[Int.random(in: 0..<urls.count, using: &random)]
      let task =
        Bool.random(using: &random)
        ? Task { [await Self.end(of: url, by: client)] }
        : Task { await client.phases(for: url).all.filter(\.isTerminal) }
      loads.append((url, task))
      for _ in 0..<Int.random(in: 0...3, using: &random) { await Task.yield() }
      loads.randomElement(using: &random)?.task.cancel()
    }
    for load in loads { load.task.cancel() }
    for load in loads { ends.append((load.url, await load.task.value)) }
  }

  private static func end(of url: String, by client: ImageClient) async -> ImagePhase {
    do throws(ImageError) {
      return .success(try await client.image(for: ImageRequest(url: url)))
    } catch {
      return .failure(error)
    }
  }

  /// Loads that did not end exactly once, with an image or as cancelled.
  ///
  /// - Parameter isHeld: whether a picture does not arrive.
  func wrong(_ isHeld: (String) -> Bool) -> [String] {
    ends.compactMap { url, ends in
      let isRight =
        ends.count == 1
        && (ends[0].error?.code == .cancelled || (ends[0].image != nil && !isHeld(url)))
      return isRight ? nil : "\(url): \(ends)"
    }
  }
}
