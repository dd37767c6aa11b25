/// One transfer's share of the turns of the loop.
struct TurnShare {
  private let id: UInt64
  private let turns: LoopTurns
  /// How often the transfer had its part of a turn for next to nothing.
  private var wastedCount = 0

  /// By then an origin that sends chunks of a few bytes has sent 8 MiB: a read buffer each turn.
  static let maximumWastedCount = 128

  init(of id: UInt64, in turns: LoopTurns) {
    self.id = id
    self.turns = turns
  }

  /// Counts one call that brings bytes of a body.
  ///
  /// - Returns: `false` when the transfer has had its part of this turn.
  func permitCall(byteCount: Int) -> Bool {
    turns.permitsCall(of: id, byteCount: byteCount)
  }

  /// The transfer is paused until the next turn.
  ///
  /// - Returns: `false` when it is to end instead, because it has wasted too many turns.
  mutating func awaitNext() -> Bool {
    if turns.wait(id) { wastedCount += 1 }
    return wastedCount <= Self.maximumWastedCount
  }
}
