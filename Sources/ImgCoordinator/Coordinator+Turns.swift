import ImgCore
import ImgModel
import ImgSettings
import ImgTransport
import ImgWire

/// Fairness between clients: one request of each in turn, and one bound on what all of them cost.
extension Coordinator {
  /// How long requests are served before the loop looks at the workers and the other clients again.
  private static let servingTime = Duration.milliseconds(10)

  /// Serves the clients in turn, one request each, until none waits or the time of a round is over.
  func serveClients() {
    let end = ContinuousClock.now + Self.servingTime
    repeat {
      closeHeaviestClients()
      guard let number = turns.removeFirst() else { return }
      if let client = clients[number], client.wantsTurn { serveNextRequest(of: client) }
    } while ContinuousClock.now < end
  }

  private func serveNextRequest(of client: ClientConnection) {
    do throws(ChannelError) {
      if let delivery = try client.channel.takeMessage() {
        handle(delivery, from: client)
      } else if try read(client) != .bytes {
        // Only a client that has hung up has a turn without a request.
        return close(client)
      }
      settle(client)
    } catch {
      lose(client, because: error)
    }
  }

  /// Closes clients until all of them together hold no more memory than they may.
  private func closeHeaviestClients() {
    while let number = ledger.heaviest, let client = clients[number] {
      expel(
        client, .unavailable,
        "all clients together hold too much memory for unread replies and half-sent requests, and "
          + "this one holds most: \(client.channel.heldByteCount >> 10) KiB; read each reply before "
          + "the next request")
    }
  }

  /// Closes the clients that have owed the rest of a request for too long.
  func closeOverdueClients(at now: ContinuousClock.Instant) {
    let timeout = UnitScale.duration.text(settings.limits.clientTimeoutMilliseconds)
    for number in ledger.overdue(at: now) {
      guard let client = clients[number], let debt = client.debt else { continue }
      expel(client, .invalidRequest, "\(debt.rawValue) within \(timeout)")
    }
  }
}
