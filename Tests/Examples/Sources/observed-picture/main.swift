// Shows a picture as a view does that observes it: a line for each state that it draws.
//
// usage: observed-picture URL

import Glibc
import ImgClient
import Observation

/// What a view of a picture draws.
struct Drawing: Equatable {
  let text: String
  let isLast: Bool

  @MainActor
  init(_ picture: ObservableImage) {
    let image = picture.image.map { "\($0.format), \($0.width) x \($0.height)" }
    let progress = picture.progress.map { "\($0.receivedByteCount) bytes" }
    text =
      picture.error?.message ?? (picture.isLoading ? progress ?? "loading" : image ?? "nothing")
    isLast = picture.request != nil && !picture.isLoading
  }
}

let arguments = CommandLine.arguments
guard arguments.count == 2 else {
  print("usage: observed-picture URL")
  exit(64)
}

let picture = ObservableImage(client: try ImageClient())
picture.load(ImageRequest(url: arguments[1], size: 256))
for await drawing in Observations({ Drawing(picture) }) {
  print(drawing.text)
  if drawing.isLast { break }
}
exit(picture.image == nil ? 1 : 0)
