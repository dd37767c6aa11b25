import ImgModel
import ImgSystem
import ImgWire
import Synchronization

/// What came of a fetch that the coordinator asked for.
enum BroughtPicture: Sendable {
  case fetched(FetchedPicture, PassedFile)
  case failed(Failure)
}

/// The fetches that coordinators ask for while one request waits, one after the other.
final class AskedFetches: Sendable {
  private enum State {
    case none
    case underWay(Task<Void, Never>)
    /// The request has ended.
    case ended
  }

  private let fetch: @Sendable (Duration) async -> BroughtPicture
  private let commands: Mailbox<SessionCommand>
  private let state = Mutex(State.none)

  init(
    _ fetch: @escaping @Sendable (Duration) async -> BroughtPicture,
    _ commands: Mailbox<SessionCommand>
  ) {
    self.fetch = fetch
    self.commands = commands
  }

  /// Begins each.
  var handler: @Sendable (SessionCall, Duration) -> Void {
    { [self] call, limit in begin(for: call, within: limit) }
  }

  private func begin(for call: SessionCall, within limit: Duration) {
    state.withLock { state in
      if case .ended = state { return }
      if case .underWay(let former) = state { former.cancel() }
      state = .underWay(
        Task { [fetch, commands] in
          let brought = await fetch(limit)
          if !Task.isCancelled { commands.post(.bring(brought, call)) }
        })
    }
  }

  func end() {
    state.withLock { state in
      if case .underWay(let task) = state { task.cancel() }
      state = .ended
    }
  }
}
