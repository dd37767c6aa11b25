import ImgModel
import ImgSystem

/// The previews of one viewer on their way to its client. The client takes one at a time: while it has not
/// asked for the next one, only the newest waits.
struct PreviewMailbox {
  struct Preview {
    /// Counts those that are sent from 1.
    let number: Int
    let thumbnail: Thumbnail
    let file: PassedFile
  }

  private var sentCount = 0
  private var isRequested = true
  private var newest: (thumbnail: Thumbnail, file: PassedFile)?

  /// Whether one waits until the client asks for it.
  var isAnyWaiting: Bool { newest != nil }

  /// Whether a further one would wait, and replace none.
  var addsFile: Bool { !isRequested && newest == nil }

  /// - Returns: the preview to send now; `nil` if none is due.
  mutating func add(_ thumbnail: Thumbnail, _ file: PassedFile) -> Preview? {
    newest = (thumbnail, file)
    return takeRequested()
  }

  /// The client has taken a preview, and takes the next one.
  ///
  /// - Returns: the preview to send now; `nil` if none is due.
  mutating func requestNext() -> Preview? {
    isRequested = true
    return takeRequested()
  }

  private mutating func takeRequested() -> Preview? {
    guard isRequested, let (thumbnail, file) = newest else { return nil }
    newest = nil
    isRequested = false
    sentCount += 1
    return Preview(number: sentCount, thumbnail: thumbnail, file: file)
  }
}
