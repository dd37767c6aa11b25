import ImgFetch
import ImgModel
import TestOrigin
import Testing

/// Answers that keep libcurl at work without end.
@Suite(.timeLimit(.minutes(20))) struct FloodTests {
  @Test func `a body of one-byte chunks has a part of each turn of the loop, and is given up`()
    throws
  {
    let flood = try FloodOrigin.chunkedPicture(endingIn: "1\r\nX\r\n")
    let fetcher = try Fetcher { $0.maxBodyByteCount = 4 << 20 }
    var turnCount = 0
    let transfer = try fetcher.fetch(flood.baseURL) { turnCount += 1 }
    #expect(transfer.failure?.code == .tooLarge)
    #expect(transfer.failure?.isRetryable == false)
    // Of the 4 MiB, 11 KB a turn come in of what fills the read buffer.
    #expect(transfer.bytesReceived < 2 << 20)
    #expect(turnCount >= 128)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test func `a body of short chunks is whole, and takes as many turns as it needs`() throws {
    let picture = noise(200_000)
    var answer = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
    for start in stride(from: 0, to: picture.count, by: 100) {
      answer += Array("64\r\n".utf8) + picture[start..<start + 100] + Array("\r\n".utf8)
    }
    answer += Array("0\r\n\r\n".utf8)
    let listener = try RawListener()
    let transfer = try Fetcher().fetch(listener.baseURL) { listener.answer(with: answer) }
    #expect(try #require(transfer.body).holds(picture))
  }
}
