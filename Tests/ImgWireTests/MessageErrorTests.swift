import ImgModel
import ImgWire
import Testing

@Suite struct MessageErrorTests {
  @Test(arguments: [
    "", "null", "[]", "7", "{", #"{"type":7}"#, #"{"type":"nonsense"}"#, #"{}"#,
    #"{"type":"get","id":1}"#, #"{"type":"get","id":-1,"url":"","options":{}}"#,
    #"{"type":"results","id":1,"job":1,"from":0.5,"failed_only":true}"#,
    String(repeating: "[", count: 100_000),
  ])
  func `an invalid message is an error`(text: String) {
    #expect(throws: MessageError.self) {
      try WireCoding.message(ClientMessage.self, from: ArraySlice(text.utf8))
    }
  }

  @Test func `invalid UTF-8 is an error`() {
    #expect(throws: MessageError.self) {
      try WireCoding.message(ClientMessage.self, from: [0x7B, 0xFF, 0xFE, 0x7D])
    }
  }

  @Test func `the error names the missing member`() throws {
    let error = try #require(throws: MessageError.self) {
      try WireCoding.message(ClientMessage.self, from: ArraySlice(#"{"type":"stop"}"#.utf8))
    }
    #expect(error.description == #"not a message of a client: "id" is missing"#)
  }

  @Test func `unknown members are ignored`() throws {
    let text = #"{"type":"stop","id":1,"later":{"x":[1]}}"#
    let message = try WireCoding.message(ClientMessage.self, from: ArraySlice(text.utf8))
    #expect(message == .stop(PlainRequest(id: RequestID(rawValue: 1))))
  }

  @Test func `a variant out of range is not decoded`() {
    let text = """
      {"type":"get","id":1,"url":"http://a/","options":{"priority":0,"delay_ms":0,"variant":
      {"width":0,"height":1,"mode":"fit","crop":false,"format":"auto","quality":80}}}
      """
    #expect(throws: MessageError.self) {
      try WireCoding.message(ClientMessage.self, from: ArraySlice(text.utf8))
    }
  }

  @Test func `a message that exceeds a frame is not encoded`() {
    let lines = SubmissionLines(
      id: RequestID(rawValue: 1), lines: [String(repeating: "a", count: Frame.maximumByteCount)])
    #expect(throws: MessageError.self) { try WireCoding.frame(ClientMessage.submitLines(lines)) }
  }
}
