import ImgModel

/// A line that was read from the journal and not yet taken up.
package struct QueuedLine {
  let index: Int
  package let position: Int
  /// What the line says; a line that is no URL fails when its turn comes.
  let url: Result<ImageURL, Failure>

  package var host: String? { try? url.get().host }
}

/// The position up to which a job's list was taken, and the few lines read behind it.
package struct LineCursor {
  /// Lines read and not taken, in the order of their positions.
  package private(set) var lines = FIFO<QueuedLine>()
  /// The position at which reading goes on.
  package private(set) var next: Int
  /// The request whose page is awaited; `nil` when none is.
  var ticket: UInt64?

  init(at position: Int) {
    next = position
  }

  /// Every position below it was taken or deferred.
  var front: Int { lines.first?.position ?? next }

  mutating func removeFirst() -> QueuedLine? { lines.removeFirst() }

  mutating func take(_ lines: [QueuedLine], next: Int) {
    ticket = nil
    self.next = next
    self.lines.append(contentsOf: lines)
  }
}
