/// Lines of one host that a job has in hand and that are not being fetched, and how many there may be.
///
/// While no line had to wait for a transfer there is no limit: all lines may be in the store. Once one
/// had to, few are taken up ahead, because the others may have to wait, too. Each hit then makes room
/// for one more, so that a part of a list that is in the store is soon looked up at full speed.
package struct HostBacklog: Equatable {
  /// Lines that are looked up, or wait behind earlier ones.
  package var beforeTransfer = 0
  /// For a transfer or a decoder.
  package var waiting = 0
  /// Lines that there may be; `nil` for no limit.
  private var window: Int?
  /// Whether no further line is taken up. A backlog that was full has to shrink to half of its window
  /// before the next lines are taken up together: each round of look-ups costs messages, however many
  /// lines it has.
  package private(set) var isFull = false

  package var isEmpty: Bool { beforeTransfer == 0 && waiting == 0 }

  static func += (backlog: inout Self, change: Self) {
    backlog.beforeTransfer += change.beforeTransfer
    backlog.waiting += change.waiting
  }

  /// Counts lines in or out.
  ///
  /// - Parameter missWindow: lines that there may be once one has to wait.
  mutating func count(_ change: Self, missWindow: Int) {
    self += change
    if change.waiting > 0 {
      window = missWindow
    } else if let window, change.waiting == 0, change.beforeTransfer < 0 {
      self.window = window - change.beforeTransfer
    }
    updateFullness()
  }

  /// The window after a miss has changed.
  mutating func limit(to missWindow: Int) {
    if window != nil { window = missWindow }
    updateFullness()
  }

  private mutating func updateFullness() {
    guard let window else { return }
    let count = beforeTransfer + waiting
    isFull = count >= window || isFull && count > window / 2
  }
}
