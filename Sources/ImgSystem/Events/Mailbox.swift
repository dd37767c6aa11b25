import Synchronization

/// Carries messages from any thread to the one whose ``Poller`` watches ``descriptor``.
///
/// It has no bound of its own: what is posted are answers to work the receiver handed out, and the
/// queue that the work went through is bounded.
package final class Mailbox<Message: Sendable>: Sendable {
  private let messages = Mutex<[Message]>([])
  private let wakeup: Wakeup

  package init() throws(SystemError) {
    wakeup = try Wakeup()
  }

  /// Readable while there are messages, and now and then when there are none.
  package var descriptor: CInt { wakeup.descriptor }

  package func post(_ message: Message) {
    let wasEmpty = messages.withLock { messages in
      messages.append(message)
      return messages.count == 1
    }
    if wasEmpty { wakeup.signal() }
  }

  /// All messages in the order they were posted. To be called by one thread.
  package func takeAll() -> [Message] {
    // The flag first: a message posted after this line raises it again.
    wakeup.drain()
    return messages.withLock { messages in
      let taken = messages
      messages = []
      return taken
    }
  }
}
