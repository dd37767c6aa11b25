/// The transfer that libcurl is working on.
///
/// Each change is reported at once. A worker reports it to its heartbeat page, which then still
/// names the transfer when libcurl does not return. A call for one socket is for one transfer. A
/// call for what is due by time is for any number of them: it starts without a name, and the
/// callbacks set one.
final class CurrentTransfer {
  private var id: UInt64?
  private let report: (UInt64?) -> Void

  init(report: @escaping (UInt64?) -> Void) {
    self.report = report
  }

  /// Has libcurl work for one transfer, or for those that are due where `id` is `nil`.
  func during<Result>(_ id: UInt64?, _ work: () -> Result) -> Result {
    let outer = self.id
    set(id)
    defer { set(outer) }
    return work()
  }

  /// libcurl calls back for a transfer.
  func set(_ id: UInt64?) {
    guard id != self.id else { return }
    self.id = id
    report(id)
  }
}
