import ImgModel

/// A line that was read from the journal and not yet taken up.
struct QueuedLine {
  let index: Int
  let position: Int
  /// What the line says; a line that is no URL fails when its turn comes.
  let url: Result<ImageURL, Failure>

  var host: String? { try? url.get().host }
}

/// The place up to which a job's list was gone through, and the few lines read behind it.
struct LineCursor {
  /// Lines read and not taken, in the order of their positions.
  private(set) var window = FIFO<QueuedLine>()
  /// The position at which reading goes on.
  private(set) var next: Int
  /// The request whose page is awaited; `nil` when none is.
  var ticket: UInt64?

  init(at position: Int) {
    next = position
  }

  /// Every position below it was taken or passed over.
  var front: Int { window.first?.position ?? next }

  mutating func removeFirst() -> QueuedLine? { window.removeFirst() }

  mutating func take(_ lines: [QueuedLine], next: Int) {
    ticket = nil
    self.next = next
    window.append(contentsOf: lines)
  }
}

/// A host of which a job has enough lines waiting, so that the cursor has passed further ones over.
struct LaggingHost {
  /// Lines passed over and not read again.
  var passedOver = PositionList()
  /// Lines read again and not taken.
  var window = FIFO<QueuedLine>()
}
