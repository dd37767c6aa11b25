import CMicroHTTPD
import Glibc

/// One request and its answer. Only the thread of its event loop uses it.
final class Exchange {
  /// How far the request is.
  private enum Progress {
    case header
    case body(RequestHead)
    case waiting(PendingAnswer)
    case answered
  }

  /// libmicrohttpd notes each argument of a query in the memory of the connection, and does not answer if it
  /// has no room for one. The connection of such a request closes without a response.
  private static let maximumArgumentCount = 400

  private let target: [UInt8]
  private let targetRange: Range<UInt>
  private let loop: EventLoop
  private let connection: Connection
  private let handle: ConnectionHandle
  private var progress = Progress.header
  private var body: [UInt8] = []
  /// The bytes of a body beyond the limit, which are dropped.
  private var surplusByteCount = 0
  private var stream: StreamSource?
  private var isCounted = false
  private var isHead = false
  /// Whether the connection closes after the response. It does after a body: if a proxy in front has read its
  /// end elsewhere, nothing is taken for the next request.
  private var isLast = false

  /// - Parameter target: as sent.
  init(
    target: RequestText, connection: Connection, handle: ConnectionHandle, loop: EventLoop
  ) {
    self.target = target.bytes
    targetRange = target.range
    self.connection = connection
    self.handle = handle
    self.loop = loop
    connection.receiveRequest()
    let argumentCount = self.target.lazy.filter { $0 == UInt8(ascii: "&") }.count
    if argumentCount > Self.maximumArgumentCount { connection.close(CInt(SHUT_RDWR)) }
  }

  private var core: ServerCore { loop.core }

  /// Whether ``receiveHeader(method:version:byteCount:)`` is next.
  var needsHeader: Bool {
    if case .header = progress { true } else { false }
  }

  /// The header has arrived.
  ///
  /// - Parameter byteCount: its size.
  func receiveHeader(method: RequestText, version: RequestText, byteCount: Int) -> MHD_Result {
    isCounted = true
    core.counters.countRequest()
    do throws(RequestRefusal) {
      guard byteCount <= core.limits.headerBytes else { throw .tooLargeHeader }
      let head = try readHead(method: method, version: version, byteCount: byteCount)
      isLast = head.hasBody
      isHead = head.method == .head
      progress = .body(head)
      return .YES
    } catch {
      return refuse(error)
    }
  }

  private func readHead(
    method: RequestText, version: RequestText, byteCount: Int
  ) throws(RequestRefusal) -> RequestHead {
    let layout = HeaderLayout(
      method: method.range, target: targetRange, version: version.range)
    let read = RequestFields(from: handle, layout: layout)
    guard read.isComplete(at: method.range.lowerBound &+ UInt(byteCount)) else {
      throw RequestRefusal(.badRequest, "the header of the request is not valid")
    }
    return try RequestHead(
      method: method.string, target: target, version: version.string, fields: read.fields,
      limits: core.limits)
  }

  /// A part of the body has arrived. libmicrohttpd takes no response before the end of the body, so what is
  /// too much is dropped. A client that sends yet more than the limit again is cut off.
  func receiveBody(_ part: UnsafeRawBufferPointer) -> MHD_Result {
    if surplusByteCount == 0, body.count + part.count <= core.limits.bodyBytes {
      unsafe body.append(contentsOf: part)
      return .YES
    }
    surplusByteCount += part.count
    return surplusByteCount <= core.limits.bodyBytes ? .YES : .NO
  }

  /// The request is whole, or its connection has been resumed.
  func answer() -> MHD_Result {
    switch progress {
    case .header: return .NO
    case .body(let head):
      guard surplusByteCount == 0 else { return refuse(.tooLargeBody) }
      connection.answerRequest()
      let request = HTTPRequest(head.method, head.target, fields: head.fields, body: body)
      return answer(request)
    case .waiting(let pending):
      guard let response = pending.takeResponse() else { return .NO }
      return send(response)
    // libmicrohttpd asks again only after an answer that it did not take.
    case .answered: return .NO
    }
  }

  /// The response has been sent, or the connection closes.
  func end() {
    if let stream {
      stream.abandon()
      core.counters.giveStreamPlace()
    }
    connection.waitForRequest()
    if isCounted { core.endRequest() }
  }

  private func answer(_ request: HTTPRequest) -> MHD_Result {
    switch core.handler.answer(to: request) {
    case .response(let response):
      return send(response)
    case .later(let prepare):
      guard core.counters.takeWaitingPlace(of: core.limits.waitingRequests) else {
        return refuse(.busy)
      }
      guard let pending = PendingAnswer.start(prepare, on: handle, of: loop) else {
        core.counters.giveWaitingPlace()
        return .NO
      }
      progress = .waiting(pending)
      return .YES
    }
  }

  private func refuse(_ refusal: RequestRefusal) -> MHD_Result {
    if refusal != .busy { isLast = true }
    return send(refusal.response)
  }

  private func send(_ response: HTTPResponse) -> MHD_Result {
    progress = .answered
    guard let body = source(of: response) else { return refuse(.busy) }
    guard let outgoing = OutgoingResponse(body) else { return .NO }
    guard outgoing.add(response.fields, isLast: isLast || core.isStopping) else {
      return refuse(.invalidResponse)
    }
    core.counters.countResponse(response.status)
    return unsafe outgoing.queue(status: response.status, on: handle.pointer)
  }

  /// - Returns: `nil` if there are too many streams.
  private func source(of response: HTTPResponse) -> OutgoingResponse.Source? {
    switch response.body {
    case .none: return OutgoingResponse.Source.none
    case .bytes(let body):
      if !isHead, response.status != .notModified { core.counters.countSent(body.count) }
      return .bytes(body)
    case .stream where isHead:
      isLast = true
      return .omittedStream
    case .stream(let chunks):
      guard core.counters.takeStreamPlace(of: core.limits.streams) else { return nil }
      let source = StreamSource(connection: handle, loop: loop)
      stream = source
      source.start(chunks)
      return .stream(source)
    }
  }
}
