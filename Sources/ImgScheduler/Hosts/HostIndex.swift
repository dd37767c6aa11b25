/// The hosts by what they may do, see ``TransferQueue/Standing``: only hosts that could start a
/// transfer now compete.
struct HostIndex {
  /// Hosts by their pace, each as urgent as its most urgent URL.
  typealias Queues = [HostPace: PriorityQueue<String, Urgency>]

  /// The hosts with a URL that waits, a free slot and a token.
  private(set) var startable = Queues()
  /// The same of the hosts where a transfer waits that was redirected.
  private(set) var redirects = Queues()
  /// The hosts that only time keeps from starting, or from being forgotten, and until when.
  private var coolingDown = PriorityQueue<String, ContinuousClock.Instant>()
  /// The hosts that something waits for at an origin with a pause, and until when. Other origins of theirs may
  /// be asked meanwhile.
  private var paused = PriorityQueue<String, ContinuousClock.Instant>()
  /// The hosts that have only failures in a row to remember, and until when.
  private var remembered = PriorityQueue<String, ContinuousClock.Instant>()

  /// What a long list of dead hosts may cost in memory. Beyond it the first to be forgotten is
  /// forgotten at once.
  static let rememberedMaximum = 4_096

  /// When a host may go on that has a cooldown now, or is forgotten.
  var deadline: ContinuousClock.Instant? {
    [coolingDown.first?.priority, paused.first?.priority, remembered.first?.priority]
      .compactMap(\.self).min()
  }

  mutating func remove(_ host: String) {
    for pace in HostPace.allCases {
      startable[pace]?.remove(host)
      redirects[pace]?.remove(host)
    }
    coolingDown.remove(host)
    paused.remove(host)
    remembered.remove(host)
  }

  /// The host may start the transfer of this urgency.
  ///
  /// - Parameter isRedirect: whether one that was redirected is among those that wait.
  mutating func setStartable(
    _ host: String, _ urgency: Urgency, _ pace: HostPace, isRedirect: Bool
  ) {
    if isRedirect {
      redirects[pace, default: PriorityQueue()].set(host, to: urgency)
    } else {
      startable[pace, default: PriorityQueue()].set(host, to: urgency)
    }
  }

  mutating func setCoolingDown(_ host: String, until moment: ContinuousClock.Instant) {
    coolingDown.set(host, to: moment)
  }

  mutating func setPaused(_ host: String, until moment: ContinuousClock.Instant) {
    paused.set(host, to: moment)
  }

  /// - Returns: the host to forget at once for it, if too many are remembered.
  mutating func setRemembered(_ host: String, until moment: ContinuousClock.Instant) -> String? {
    remembered.set(host, to: moment)
    return remembered.count > Self.rememberedMaximum ? remembered.removeFirst() : nil
  }

  /// Takes a host whose time has come.
  mutating func takeDue(at now: ContinuousClock.Instant) -> String? {
    if let until = coolingDown.first?.priority, until <= now { return coolingDown.removeFirst() }
    if let until = paused.first?.priority, until <= now { return paused.removeFirst() }
    if let until = remembered.first?.priority, until <= now { return remembered.removeFirst() }
    return nil
  }
}
