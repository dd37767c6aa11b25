import CMicroHTTPD
import Glibc

/// One request and its answer. Only the thread of its event loop uses it.
final class Exchange {
  /// How far the request is.
  private enum Progress {
    case header
    case received(RequestHead)
    case waiting(PendingAnswer)
    case answered
  }

  private let target: [UInt8]
  private let targetRange: Range<UInt>
  private let loop: EventLoop
  private let connection: Connection
  private let handle: ConnectionHandle
  private var progress = Progress.header
  private var stream: StreamSource?
  private var isCounted = false
  /// When the header was whole.
  private var start = ContinuousClock.now
  /// `nil` until the handler is asked.
  private var request: HTTPRequest?
  private var isHead = false
  /// Whether the connection closes after the response. It does after a request with a body, which is not read:
  /// nothing of it is taken for the next request.
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
  }

  private var core: ServerCore { loop.core }

  /// The request line has arrived. A target that is longer than a header may be is refused at once.
  ///
  /// It lies in the memory of libmicrohttpd, which would not answer, or send a header twice, if the target and the
  /// fields leave too little of that for a response. libmicrohttpd closes the connection after the header.
  func receiveTarget() {
    guard target.count > core.limits.headerBytes else { return }
    progress = .answered
    connection.refuseRequest()
    let status = HTTPStatus.uriTooLong
    core.counters.countResponse(status)
    core.handler.record(status, to: nil, after: .zero)
    connection.sendLast(BareResponse(status, reason: "URI Too Long", at: time(nil)))
  }

  /// Whether ``receiveHeader(method:version:byteCount:)`` is next.
  var needsHeader: Bool {
    if case .header = progress { true } else { false }
  }

  /// The header has arrived.
  ///
  /// - Parameter byteCount: its size.
  func receiveHeader(method: RequestText, version: RequestText, byteCount: Int) -> MHD_Result {
    isCounted = true
    isHead = HTTPMethod(method.string) == .head
    start = .now
    core.counters.countRequest()
    do throws(RequestRefusal) {
      guard byteCount <= core.limits.headerBytes else { throw .tooLargeHeader }
      let head = try readHead(method: method, version: version, byteCount: byteCount)
      progress = .received(head)
      return .YES
    } catch {
      return refuse(error)
    }
  }

  private func readHead(
    method: RequestText, version: RequestText, byteCount: Int
  ) throws(RequestRefusal) -> RequestHead {
    let start = method.range.lowerBound
    let layout = HeaderLayout(
      method: method.range, target: targetRange, version: version.range)
    let read = RequestFields(
      from: handle, header: start..<start + UInt(byteCount), layout: layout)
    guard read.isComplete else {
      throw RequestRefusal(.badRequest, "the header of the request is not valid")
    }
    return try RequestHead(
      method: method.string, target: target, version: version.string, fields: read.fields,
      limits: core.limits)
  }

  /// The request is next, or its connection has been resumed.
  func answer() -> MHD_Result {
    switch progress {
    case .header: return .NO
    case .received(let head):
      connection.answerRequest()
      let request = HTTPRequest(head.method, head.target, fields: head.fields)
      self.request = request
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
      core.counters.giveStreamSlot()
      core.connections.endStream(of: connection)
    }
    connection.waitForRequest()
    if isCounted { core.endRequest() }
  }

  private func answer(_ request: HTTPRequest) -> MHD_Result {
    switch core.handler.answer(to: request) {
    case .response(let response):
      return send(response)
    case .repeated(let response):
      return send(response)
    case .later(let executor, let prepare):
      guard core.counters.takeWaitingSlot(of: core.limits.waitingRequests) else {
        return refuse(.busy)
      }
      guard let pending = PendingAnswer.start(executor, prepare, on: handle, of: loop) else {
        core.counters.giveWaitingSlot()
        return .NO
      }
      progress = .waiting(pending)
      return .YES
    }
  }

  /// Sends a response, or the refusal in its place if it cannot be sent.
  private func send(_ response: HTTPResponse) -> MHD_Result {
    do throws(RequestRefusal) {
      return try queue(response)
    } catch {
      return refuse(error)
    }
  }

  /// The connection closes if the handler's own response to a refusal cannot be sent.
  private func refuse(_ refusal: RequestRefusal) -> MHD_Result {
    if refusal != .busy {
      isLast = true
      connection.refuseRequest()
    }
    return (try? queue(core.handler.response(to: refusal))) ?? .NO
  }

  /// - Throws: `busy` if there are too many streams, and `invalidResponse` for a field that HTTP does not
  ///   permit.
  private func queue(_ response: HTTPResponse) throws(RequestRefusal) -> MHD_Result {
    progress = .answered
    guard let body = source(of: response) else { throw .busy }
    guard let outgoing = OutgoingResponse(body) else { return .NO }
    guard outgoing.add(response.fields, isLast: isLast || core.isStopping) else {
      throw .invalidResponse
    }
    record(response)
    return unsafe outgoing.queue(status: response.status, on: handle.pointer)
  }

  private func send(_ repeated: RepeatedResponse) -> MHD_Result {
    // The last response of a connection says so.
    guard !isLast, !core.isStopping, let result = unsafe repeated.queue(on: handle.pointer) else {
      return send(repeated.response)
    }
    progress = .answered
    record(repeated.response)
    return result
  }

  private func record(_ response: HTTPResponse) {
    core.counters.countResponse(response.status)
    if case .bytes(let body) = response.body, !isHead, response.status != .notModified {
      core.counters.countSent(body.count)
    }
    core.handler.record(response.status, to: request, after: .now - start)
  }

  /// - Returns: `nil` if there are too many streams.
  private func source(of response: HTTPResponse) -> OutgoingResponse.Source? {
    switch response.body {
    case .none: return OutgoingResponse.Source.none
    case .bytes(let body): return .bytes(body)
    case .stream where isHead:
      isLast = true
      return .omittedStream
    case .stream(let chunks):
      guard core.connections.beginStream(of: connection) else { return nil }
      guard core.counters.takeStreamSlot(of: core.limits.streams) else {
        core.connections.endStream(of: connection)
        return nil
      }
      let source = StreamSource(connection: handle, loop: loop)
      stream = source
      source.start(chunks)
      return .stream(source)
    }
  }
}

/// Reads the fields of a request.
struct RequestFields {
  private(set) var fields = HTTPFields()
  private let header: Range<UInt>
  private var layout: HeaderLayout

  /// - Parameters:
  ///   - connection: in a call of the access handler.
  ///   - header: where the header lies.
  ///   - layout: with the request line.
  init(from connection: ConnectionHandle, header: Range<UInt>, layout: HeaderLayout) {
    self.header = header
    self.layout = layout
    unsafe withUnsafeMutablePointer(to: &self) { fields in
      _ = unsafe MHD_get_connection_values_n(connection.pointer, .HEADER_KIND, onField, fields)
    }
  }

  /// Whether these are all bytes of a valid header.
  var isComplete: Bool { layout.isComplete(at: header.upperBound) }

  fileprivate mutating func append(_ name: RequestText, _ value: RequestText) {
    // The others are those of `MHD_skip_parsing`.
    guard header.contains(name.range.lowerBound) else { return }
    layout.takeField(name: name.range, value: value.range)
    fields.add(name.string, value.withoutTrailingWhitespace.string)
  }
}

private let onField: MHD_KeyValueIteratorN = { context, _, name, nameCount, value, valueCount in
  guard let fields = unsafe context?.assumingMemoryBound(to: RequestFields.self),
    let name = unsafe name, let value = unsafe value
  else { return .NO }
  unsafe fields.pointee.append(
    RequestText(name, count: nameCount), RequestText(value, count: valueCount))
  return .YES
}
