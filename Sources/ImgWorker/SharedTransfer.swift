import ImgFetch
import ImgModel

/// One transfer of a picture and the leases that it serves. Its body comes in once; each lease gets a
/// decode of its own from it.
///
///     receiving ── the body is in ──► decoding ── the last decode is over ──► over
///         └────── it failed, or the last lease left ───────────────────────────▲
struct SharedTransfer {
  /// A body that came in whole. Its bytes are shared, never copied.
  struct Body {
    let content: BodyContent
    /// What it counts against the transfer pool's budgets.
    let charge: BodyCharge
    /// Bytes of bodies that the origin sent for it, those of redirects among them.
    let receivedByteCount: Int
    /// Of them, those that this transfer has received.
    let freshByteCount: Int
    let reuse: AnswerReuse
    /// What its transfer took.
    var timings = Timings()
    /// What it fails with for those who respect that its origin does not want it used.
    var optOut: Failure?
    /// Whether it comes from where a redirect has led.
    var isFromRedirect = false
  }

  /// What one lease is to be decoded from.
  struct Share {
    let lease: LeaseID
    let body: Body
    /// What the lease's result reports as fetched. The bytes of a body are counted once, however
    /// many leases are decoded from it.
    let bytesFetched: Int
    /// Whether it was fetched without asking a robots.txt about where it comes from.
    let isUnjudged: Bool
  }

  let name: PictureName
  /// Whether redirects are followed only where robots.txt allows that.
  let judgesRedirects: Bool
  /// Those whose decode is not over, in the order they joined; never empty before the end.
  private(set) var leases: [LeaseID]
  /// `nil` while it comes in.
  private(set) var body: Body?
  /// Whether the store has the body as the original.
  private var isKept = false

  /// - Parameter lease: the lease that begins the transfer.
  init(name: PictureName, begunBy lease: LeaseID, judgesRedirects: Bool) {
    self.name = name
    self.judgesRedirects = judgesRedirects
    leases = [lease]
  }

  /// - Returns: the lease's share if the body is in; else it comes from ``receive(_:)``.
  mutating func join(_ lease: LeaseID) -> Share? {
    leases.append(lease)
    return body.map { share($0, for: lease, bytesFetched: 0) }
  }

  /// - Returns: whether no lease is left.
  mutating func leave(_ lease: LeaseID) -> Bool {
    leases.removeAll { $0 == lease }
    return leases.isEmpty
  }

  /// The body, for a lease that is to keep it; `nil` once it is in the store. Until then each lease
  /// that wants it kept stores it, as none can know whether another's is going to be.
  var unkeptBody: Body? { isKept ? nil : body }

  /// A lease has kept the body.
  mutating func noteKept() {
    isKept = true
  }

  /// - Returns: a share for each lease. The first one counts the bytes: the lease that began the
  ///   transfer or, if that has left, the one that joined first.
  mutating func receive(_ body: Body) -> [Share] {
    self.body = body
    return leases.enumerated().map { index, lease in
      share(body, for: lease, bytesFetched: index == 0 ? body.freshByteCount : 0)
    }
  }

  private func share(_ body: Body, for lease: LeaseID, bytesFetched: Int) -> Share {
    Share(
      lease: lease, body: body, bytesFetched: bytesFetched,
      isUnjudged: body.isFromRedirect && !judgesRedirects)
  }
}
