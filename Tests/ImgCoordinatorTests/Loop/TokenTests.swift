import ImgModel
import Testing

@testable import ImgCoordinator

@Suite struct TokenTests {
  private static let tokens: [Token] = [
    .listener, .signals, .journal, .client(ClientID(rawValue: 7)),
    .client(ClientID(rawValue: .max)), .workerChannel(WorkerID(rawValue: 7)),
    .workerExit(WorkerID(rawValue: 7)), .decoderExit(DecoderNumber(rawValue: 7)),
    .errors(.worker(WorkerID(rawValue: .max))), .errors(.decoder(DecoderNumber(rawValue: 7))),
  ]

  @Test func `each token has a number of its own and comes back from it`() {
    let numbers = Self.tokens.map(\.rawValue)
    #expect(Set(numbers).count == numbers.count)
    for number in numbers { #expect(Token(rawValue: number)?.rawValue == number) }
  }

  @Test func `a number of no kind is no token`() {
    #expect(Token(rawValue: 9 << 32) == nil)
    #expect(Token(rawValue: .max) == nil)
  }

  @Test func `clients and the listener are served after everything else`() {
    let ofClients = Self.tokens.filter { Token.isOfClientsOrListener($0.rawValue) }
    #expect(
      ofClients.map(\.rawValue)
        == [Token.listener, .client(ClientID(rawValue: 7)), .client(ClientID(rawValue: .max))]
        .map(\.rawValue))
  }
}
