import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

/// A reply of the coordinator, with the contents of the file beside it. They are read when the reply arrives,
/// so that no descriptor stays open until a task runs.
struct SessionReply: Sendable {
  let message: CoordinatorReply
  /// `nil` for a message that announces no file.
  let contents: Result<[UInt8], SystemError>?

  init(_ delivery: Delivery<CoordinatorReply>) {
    message = delivery.message
    contents = delivery.message.announcedByteCount.map { byteCount in
      Result { () throws(SystemError) in
        try MemoryFile(delivery.announcedFile).contents(byteCount: byteCount)
      }
    }
  }
}

extension CoordinatorReply {
  /// The bytes of the file beside the message; `nil` if it announces none.
  fileprivate var announcedByteCount: Int? {
    switch self {
    case .got(let got): got.uncached?.thumbnail.byteCount
    case .preview(let preview): preview.thumbnail.byteCount
    case .hello, .refused, .submitted, .status, .jobs, .job, .results, .progress, .waiting,
      .forgotten, .detached, .sweeping, .stopping:
      nil
    }
  }
}
