import ImgModel
import ImgWire
import SeededRandom

/// Random messages of the kinds that have code of their own.
enum RandomMessages {
  static func coordinatorMessage(_ random: inout SeededGenerator) -> CoordinatorMessage {
    let batch = Batch(
      request(&random),
      retention: Retention(
        after: .milliseconds(number(&random)),
        until: Bool.random(using: &random) ? WallTime(rawValue: 1_800_000_000_123) : nil,
        sliding: .milliseconds(number(&random))),
      isUrgent: .random(using: &random),
      items: list(&random) { Assignment(lease: lease(&$0), url: text(&$0)) },
      takesStale: .random(using: &random))
    return switch Int.random(in: 0..<4, using: &random) {
    case 0: .lookup(batch)
    case 1: .fetch(batch)
    case 2: .attach(batch)
    default: .decode(batch)
    }
  }

  static func workerMessage(_ random: inout SeededGenerator) -> WorkerMessage {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: .transferred(LeaseList(leases: list(&random, lease)))
    case 1: .released(LeaseList(leases: list(&random, lease)))
    case 2:
      .lookedUp(
        LookupResults(
          hits: list(&random) {
            LookupResults.Hit(lease: lease(&$0), thumbnail: thumbnail(&$0))
          }, stale: list(&random, lease), originals: list(&random, lease),
          misses: list(&random, lease)))
    default:
      .finished(
        FetchResults(
          results: list(&random, result), decodeQueueCount: Int.random(in: 0...9, using: &random)))
    }
  }

  static func clientMessage(_ random: inout SeededGenerator) -> ClientMessage {
    let id = RequestID(rawValue: .random(in: 0...UInt64.max, using: &random))
    guard Bool.random(using: &random) else {
      return .submitLines(SubmissionLines(id: id, lines: list(&random, text)))
    }
    let options = RequestOptions(
      variant: request(&random).variant, isLenient: .random(using: &random),
      priority: Int.random(in: -2...2, using: &random),
      delay: .milliseconds(Int.random(in: 0...1_000, using: &random)))
    return .get(
      GetRequest(
        id: id, url: text(&random), viewer: Bool.random(using: &random) ? text(&random) : nil,
        options: options, bypassesStore: .random(using: &random),
        wantsPreviews: .random(using: &random), wantsProgress: .random(using: &random),
        maximumRetryAfter: Bool.random(using: &random) ? .seconds(2) : nil))
  }

  static func reply(_ random: inout SeededGenerator) -> CoordinatorReply {
    .got(
      GotReply(
        id: RequestID(rawValue: .random(in: 0...UInt64.max, using: &random)),
        outcome: outcome(&random),
        timings: Bool.random(using: &random) ? timings(&random) : nil))
  }

  // MARK: - Values

  private static func result(_ random: inout SeededGenerator) -> FetchResults.Result {
    FetchResults.Result(
      lease: lease(&random), outcome: outcome(&random), wasRedirected: .random(using: &random),
      timings: Bool.random(using: &random) ? timings(&random) : nil,
      failureBehind: Bool.random(using: &random) ? failure(&random) : nil)
  }

  private static func outcome(_ random: inout SeededGenerator) -> Outcome {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: .cancelled
    case 1: .failed(failure(&random), bytesFetched: Int(number(&random)))
    default:
      .done(
        thumbnail(&random), fromCache: .random(using: &random), bytesFetched: Int(number(&random)))
    }
  }

  private static func failure(_ random: inout SeededGenerator) -> Failure {
    Failure(
      stage: Failure.Stage.allCases.randomElement(using: &random) ?? .fetch,
      code: Failure.Code.allCases.randomElement(using: &random) ?? .timeout,
      httpStatus: Bool.random(using: &random) ? 503 : nil, detail: text(&random))
  }

  private static func timings(_ random: inout SeededGenerator) -> Timings {
    var timings = Timings()
    let paths: [WritableKeyPath<Timings, Duration?>] = [
      \.dns, \.connect, \.tls, \.ttfb, \.download, \.decode, \.store,
    ]
    for path in paths where Bool.random(using: &random) {
      timings[keyPath: path] = .milliseconds(number(&random))
    }
    return timings
  }

  private static func thumbnail(_ random: inout SeededGenerator) -> Thumbnail {
    Thumbnail(
      format: ImageFormat.allCases.randomElement(using: &random) ?? .jpeg,
      width: Int(number(&random)), height: Int(number(&random)), byteCount: Int(number(&random)),
      isDamaged: .random(using: &random))
  }

  private static func request(_ random: inout SeededGenerator) -> ThumbnailRequest {
    let header = try? HeaderField(
      name: "x-\(Int.random(in: 0...9, using: &random))", value: #"a"b\c"#)
    let headers = [header].compactMap(\.self)
    return ThumbnailRequest(
      variant: Variant.standard.encoded(
        as: Variant.Format.allCases.randomElement(using: &random) ?? .auto) ?? .standard,
      isLenient: .random(using: &random), keep: Keep.allCases.randomElement(using: &random) ?? .all,
      fetch: FetchOptions(
        headers: Bool.random(using: &random) ? (try? HeaderFields(headers)) ?? .none : .none))
  }

  private static func lease(_ random: inout SeededGenerator) -> LeaseID {
    LeaseID(
      rawValue: Bool.random(using: &random)
        ? .random(in: 0...99, using: &random) : .random(in: 0...UInt64.max, using: &random))
  }

  /// Small ones, large ones and both ends of the range.
  private static func number(_ random: inout SeededGenerator) -> Int64 {
    switch Int.random(in: 0..<8, using: &random) {
    case 0: 0
    case 1: .max
    case 2: .random(in: 0...Int64.max, using: &random)
    default: .random(in: 0...9_999, using: &random)
    }
  }

  /// Text with everything that JSON escapes, and much that it does not.
  private static func text(_ random: inout SeededGenerator) -> String {
    let parts = [
      "http://a/", "é", "🜁", "\u{0}", "\u{1}", "\u{1f}", "\u{7f}", "\u{2028}", "\"", "\\", "/",
      "\n", "\r",
      "\t", "\u{8}", "\u{c}", " ", "?x=1",
    ]
    let isPlain = Bool.random(using: &random)
    return (0..<Int.random(in: 0...6, using: &random)).map { _ in
      (isPlain ? parts.first : parts.randomElement(using: &random)) ?? ""
    }.joined()
  }

  private static func list<Element>(
    _ random: inout SeededGenerator, _ element: (inout SeededGenerator) -> Element
  ) -> [Element] {
    (0..<Int.random(in: 0...3, using: &random)).map { _ in element(&random) }
  }
}
