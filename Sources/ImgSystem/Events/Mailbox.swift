import Synchronization

/// Carries messages from any thread to the thread whose ``Poller`` watches ``descriptor``.
///
/// It has no bound of its own. Each message answers a job that the receiver queued, and the queue
/// of jobs is bounded.
package final class Mailbox<Message: Sendable>: Sendable {
  private let messages = Mutex<[Message]>([])
  private let wakeup: Wakeup

  package init() throws(SystemError) {
    wakeup = try Wakeup()
  }

  /// Readable while there are messages, and sometimes when there are none.
  package var descriptor: CInt { wakeup.descriptor }

  package func post(_ message: Message) {
    post(contentsOf: CollectionOfOne(message))
  }

  /// Posts several messages, which one ``takeAll()`` returns.
  package func post(contentsOf new: some Collection<Message>) {
    guard !new.isEmpty else { return }
    let wasEmpty = messages.withLock { messages in
      messages.append(contentsOf: new)
      return messages.count == new.count
    }
    if wasEmpty { wakeup.signal() }
  }

  /// Removes all messages, in the order of posting. Only one thread may call this.
  package func takeAll() -> [Message] {
    // First, because a message posted after this line sets the flag again.
    wakeup.drain()
    return messages.withLock { messages in
      let taken = messages
      messages = []
      return taken
    }
  }
}
