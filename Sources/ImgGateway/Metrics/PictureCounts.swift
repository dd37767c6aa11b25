import ImgClient
import ImgHTTP
import Synchronization

/// Where the pictures of answers came from, so that the share of hits can be seen.
final class PictureCounts: Sendable {
  private let fromStore = Atomic<UInt64>(0)
  private let fromNetwork = Atomic<UInt64>(0)
  private let replacements = Atomic<UInt64>(0)

  /// Counts an answer that has a picture, or says that the client has it (304).
  func count(_ response: HTTPResponse, from origin: LoadedImage.Origin) {
    guard response.status != .preconditionFailed else { return }
    switch origin {
    case .memory, .store: fromStore.add(1, ordering: .relaxed)
    case .network: fromNetwork.add(1, ordering: .relaxed)
    }
  }

  /// An answer has something else in place of a picture that failed.
  func countReplacement() {
    replacements.add(1, ordering: .relaxed)
  }

  func add(to text: inout MetricsText) {
    let name = "imgctl_gateway_pictures_total"
    text.begin(name, .counter, help: "Answers with a picture, by where it came from.")
    for (source, count) in [
      ("store", fromStore.load(ordering: .relaxed)),
      ("network", fromNetwork.load(ordering: .relaxed)),
      ("replacement", replacements.load(ordering: .relaxed)),
    ] {
      text.add(name, ["from": source], Double(count))
    }
  }
}
