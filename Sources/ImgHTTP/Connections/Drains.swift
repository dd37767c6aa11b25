import Glibc
import ImgSystem
import Synchronization

/// The connections of refused requests whose clients may still send.
///
/// close(2) resets a TCP connection that has unread bytes, and after a reset a client may not see the response that
/// it was sent (RFC 9112, section 9.6). So a second descriptor keeps such a connection open after libmicrohttpd has
/// closed it, and what the client sends is read and dropped until the client closes, too.
///
/// A client that sends more than 16 MiB or for more than 5 seconds, or is one of more than 64, may see a reset.
final class Drains: Sendable {
  private struct Entry {
    let descriptor: CInt
    /// In nanoseconds of the monotonic clock.
    let deadline: UInt64
    var byteCount = 0
  }

  private struct State {
    var entries: [UInt64: Entry] = [:]
    var nextToken = Drains.firstToken
  }

  /// The tokens of events from here on are those of drains.
  static let firstToken: UInt64 = 1 << 63
  private static let maximumCount = 64
  private static let maximumByteCount = 16 << 20
  private static let nanoseconds: UInt64 = 5_000_000_000
  private static let blockByteCount = 64 << 10
  /// Blocks that are read before other connections have their turn.
  private static let maximumBatchCount = 16

  private let state = Mutex(State())
  private let events: EventSet

  init(events: EventSet) {
    self.events = events
  }

  deinit {
    close()
  }

  var isEmpty: Bool { state.withLock(\.entries.isEmpty) }

  /// Ends the response of a connection, and drops what its client sends from now on. Does nothing if there are
  /// too many drains, or no descriptors.
  ///
  /// - Parameter descriptor: not used after the call. It closes soon.
  func add(_ descriptor: CInt) {
    state.withLock { state in
      guard state.entries.count < Self.maximumCount else { return }
      let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
      guard copy >= 0 else { return }
      StreamSocket.shutDownOutput(copy)
      let token = state.nextToken
      guard (try? events.addReadable(copy, token: token)) != nil else {
        // Without memory, or at the limit of watches of the user (epoll_ctl(2)).
        Glibc.close(copy)
        return
      }
      state.nextToken += 1
      state.entries[token] = Entry(
        descriptor: copy, deadline: MonotonicClock.nanoseconds() + Self.nanoseconds)
    }
  }

  /// Drops bytes that have arrived.
  func handleInput(token: UInt64) {
    state.withLock { state in
      guard var entry = state.entries[token] else { return }
      if Self.dropInput(of: &entry) {
        state.entries[token] = entry
      } else {
        state.entries[token] = nil
        end(entry)
      }
    }
  }

  /// Closes the connections whose time is over.
  ///
  /// - Parameter now: nanoseconds of the monotonic clock.
  func closeLate(at now: UInt64) {
    closeAll { $0.deadline <= now }
  }

  /// Closes all connections.
  func close() {
    closeAll { _ in true }
  }

  private func closeAll(where isOver: (Entry) -> Bool) {
    state.withLock { state in
      for (token, entry) in state.entries where isOver(entry) {
        state.entries[token] = nil
        end(entry)
      }
    }
  }

  private func end(_ entry: Entry) {
    events.remove(entry.descriptor)
    Glibc.close(entry.descriptor)
  }

  /// - Returns: `false` if the client has closed, or has sent too much.
  private static func dropInput(of entry: inout Entry) -> Bool {
    unsafe withUnsafeTemporaryAllocation(byteCount: blockByteCount, alignment: 1) { block in
      for _ in 0..<maximumBatchCount {
        let count = unsafe recv(entry.descriptor, block.baseAddress, block.count, 0)
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        entry.byteCount += count
        guard entry.byteCount <= maximumByteCount else { return false }
      }
      return true
    }
  }
}
