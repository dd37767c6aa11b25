import ImgModel
import ImgScheduler
import Testing

@testable import ImgCoordinator

@Suite struct RequesterTableTests {
  private func requester(_ client: UInt32, _ request: UInt64) -> Requester {
    Requester(client: ClientID(rawValue: client), request: RequestID(rawValue: request))
  }

  @Test func `each request has a viewer of its own, numbered in the order of arrival`() {
    var table = RequesterTable()
    let first = table.add(requester(1, 1))
    let second = table.add(requester(2, 1))
    #expect(first.rawValue < second.rawValue)
    #expect(table[second] == requester(2, 1))
  }

  @Test func `a viewer is removed once, and its identifier is not used again`() {
    var table = RequesterTable()
    let viewer = table.add(requester(1, 1))
    #expect(table.remove(viewer) == requester(1, 1))
    #expect(table.remove(viewer) == nil)
    #expect(table[viewer] == nil)
    #expect(table.add(requester(1, 1)) != viewer)
  }
}
