/// Which of a job's numbers a line at a stage counts in.
struct StageNumbers: Equatable {
  var leased = 0
  var backlog = HostBacklog()
  /// Lines that the store has not answered.
  var unanswered = 0
  /// Lines that the store does not have, and that wait behind earlier ones.
  var behindEarlierLines = 0

  init() {}

  init(_ stage: WorkItem.Stage) {
    leased = stage.lease == nil ? 0 : 1
    switch stage {
    case .awaitingLookup, .lookingUp:
      backlog.beforeTransfer = 1
      unanswered = 1
    case .behindEarlierLines:
      backlog.beforeTransfer = 1
      behindEarlierLines = 1
    case .awaitingTransfer, .awaitingDecode: backlog.waiting = 1
    case .transferring, .decoding: break
    }
  }

  static func * (numbers: Self, factor: Int) -> Self {
    var product = numbers
    product.leased *= factor
    product.backlog.beforeTransfer *= factor
    product.backlog.waiting *= factor
    product.unanswered *= factor
    product.behindEarlierLines *= factor
    return product
  }

  static func + (left: Self, right: Self) -> Self {
    var sum = left
    sum.leased += right.leased
    sum.backlog += right.backlog
    sum.unanswered += right.unanswered
    sum.behindEarlierLines += right.behindEarlierLines
    return sum
  }
}
