import ImgModel
import ImgSystem
import Testing

@testable import ImgCoordinator

/// Previews on their way to a client.
struct PreviewMailboxTests {
  private func thumbnail(_ byteCount: Int) -> Thumbnail {
    Thumbnail(format: .jpeg, width: 10, height: 10, byteCount: byteCount)
  }

  private func file() throws -> PassedFile { try MemoryFile(containing: [1]).file }

  @Test func `a client that keeps up gets each preview, numbered from 1`() throws {
    var mailbox = PreviewMailbox()
    for number in 1...3 {
      let sent = try mailbox.add(thumbnail(number), file())
      #expect(sent?.number == number)
      #expect(sent?.thumbnail == thumbnail(number))
      #expect(mailbox.requestNext() == nil)
    }
  }

  @Test func `a slow client gets the newest preview, and none of those before it`() throws {
    var mailbox = PreviewMailbox()
    _ = try mailbox.add(thumbnail(1), file())
    for number in 2...50 {
      #expect(try mailbox.add(thumbnail(number), file()) == nil)
      #expect(mailbox.isAnyWaiting)
    }
    let next = mailbox.requestNext()
    #expect(next?.number == 2)
    #expect(next?.thumbnail == thumbnail(50))
    #expect(!mailbox.isAnyWaiting)
  }
}
